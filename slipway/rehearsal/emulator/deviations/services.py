"""Actions that clients call and moto does not have."""

import json

from moto.cloudtrail.responses import CloudTrailResponse

from slipway.rehearsal.emulator.deviations.deviation import Deviation


def _answer_lookup_events() -> None:
    def lookup_events(self: CloudTrailResponse) -> str:  # noqa: ARG001
        return json.dumps({"Events": []})

    CloudTrailResponse.lookup_events = lookup_events


DEVIATIONS = (
    Deviation(
        "cloudtrail-lookup-events",
        "the CDK CLI asks CloudTrail after a failed deployment; moto has no LookupEvents, the answer is empty",
        _answer_lookup_events,
    ),
)
