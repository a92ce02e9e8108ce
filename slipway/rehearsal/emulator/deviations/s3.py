"""S3: bucket policies with conditions."""

import json
from typing import Any

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket

from slipway.rehearsal.emulator.deviations.deviation import Deviation


def _evaluable(statement: dict[str, Any]) -> bool:
    """Whether moto can judge a statement: it knows neither conditions nor service principals."""
    principal = statement.get("Principal")
    only_services = isinstance(principal, dict) and set(principal) == {"Service"}
    return not statement.get("Condition") and not only_services


def _skip_what_moto_misreads() -> None:
    def get_permission(self: FakeBucket, action: str, resource: str) -> PermissionResult:
        if self.policy is None:
            return PermissionResult.NEUTRAL
        document = json.loads(self.policy)
        statements = document["Statement"]
        statements = statements if isinstance(statements, list) else [statements]
        document["Statement"] = [statement for statement in statements if _evaluable(statement)]
        if not document["Statement"]:
            return PermissionResult.NEUTRAL
        return IAMPolicy(json.dumps(document)).is_action_permitted(action, resource)

    FakeBucket.get_permission = get_permission  # type: ignore[method-assign]


DEVIATIONS = (
    Deviation(
        "s3-bucket-policy-conditions",
        "moto denies every request when a statement's condition is unmet or its principal is a service,"
        " even if the statement allows",
        _skip_what_moto_misreads,
    ),
)
