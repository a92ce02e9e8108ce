"""CloudTrail and Systems Manager."""

import json
from typing import Any

from moto.cloudtrail.responses import CloudTrailResponse
from moto.ssm.models import SimpleSystemManagerBackend

from slipway_emulator.moto_patches.patch import MotoPatch

_PUBLIC_PREFIX = "/aws/"


def _answer_lookup_events() -> None:
    def lookup_events(self: CloudTrailResponse) -> str:
        return json.dumps({"Events": []})

    CloudTrailResponse.lookup_events = lookup_events  # type: ignore[attr-defined]


def _list_own_parameters_only() -> None:
    describe = SimpleSystemManagerBackend.describe_parameters

    def describe_parameters(self: SimpleSystemManagerBackend, *arguments: Any, **named: Any) -> Any:
        return [
            parameter
            for parameter in describe(self, *arguments, **named)
            if not parameter.name.startswith(_PUBLIC_PREFIX)
        ]

    SimpleSystemManagerBackend.describe_parameters = describe_parameters  # type: ignore[method-assign]


DEVIATIONS = (
    MotoPatch(
        "ssm-describe-parameters",
        "moto lists AWS's public parameters among the account's own",
        _list_own_parameters_only,
    ),
    MotoPatch(
        "cloudtrail-lookup-events",
        "the CDK CLI asks CloudTrail after a failed deployment; moto has no LookupEvents, the answer is empty",
        _answer_lookup_events,
    ),
)
