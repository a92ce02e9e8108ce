"""S3: bucket policies with conditions."""

import json
from fnmatch import fnmatchcase
from typing import Any

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket

from slipway_emulator.moto_patches.patch import MotoPatch

_LOG_DELIVERY = "logging.s3.amazonaws.com"


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
        statements = _as_list(document["Statement"])
        document["Statement"] = [statement for statement in statements if _evaluable(statement)]
        if not document["Statement"]:
            return PermissionResult.NEUTRAL
        return IAMPolicy(json.dumps(document)).is_action_permitted(action, resource)

    FakeBucket.get_permission = get_permission  # type: ignore[method-assign]


def _understand_log_delivery_statements() -> None:
    def permits_log_delivery(target_bucket: FakeBucket, target_prefix: str | None) -> bool:
        if not target_bucket.policy:
            return False
        target = f"arn:{target_bucket.partition}:s3:::{target_bucket.name}/{target_prefix or ''}any-log"
        return any(
            statement["Effect"] == "Allow"
            and _LOG_DELIVERY in _as_list(statement.get("Principal", {}).get("Service"))
            and "s3:PutObject" in _as_list(statement["Action"])
            and any(fnmatchcase(target, pattern) for pattern in _as_list(statement["Resource"]))
            for statement in _as_list(json.loads(target_bucket.policy)["Statement"])
        )

    FakeBucket._log_permissions_enabled_policy = staticmethod(permits_log_delivery)  # type: ignore[method-assign]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


DEVIATIONS = (
    MotoPatch(
        "s3-log-delivery-policy",
        "moto accepts a log delivery statement only when its Resource is one exact text; CDK writes lists",
        _understand_log_delivery_statements,
    ),
    MotoPatch(
        "s3-bucket-policy-conditions",
        "moto denies every request when a statement's condition is unmet or its principal is a service,"
        " even if the statement allows",
        _skip_what_moto_misreads,
    ),
)
