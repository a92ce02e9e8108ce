"""Dynamic references: ``{{resolve:service:...}}`` in property values, looked up when a resource is provisioned."""

import re
from typing import Any

from slipway_emulator.failures import ProvisioningError
from slipway_emulator.template.context import Context

_REFERENCE = re.compile(r"\{\{resolve:([a-z-]+):([^}]*)\}\}")
_ARN_PARTS = 7
"""``arn:aws:secretsmanager:region:account:secret:name``: the id may itself contain colons."""


def with_dynamic_references(value: Any, context: Context) -> Any:
    """The value with every dynamic reference replaced.

    CloudFormation keeps the reference itself in the stack and looks it up only for the API call; so does the
    engine, which is why secrets never reach change sets, events or the ledger.

    Raises:
        ProvisioningError: The parameter or secret does not exist, or the service is unknown.
    """
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: _look_up(found[1], found[2], context), value)
    if isinstance(value, list):
        return [with_dynamic_references(item, context) for item in value]
    if isinstance(value, dict):
        return {key: with_dynamic_references(item, context) for key, item in value.items()}
    return value


def _look_up(service: str, text: str, context: Context) -> str:
    match service:
        case "ssm" | "ssm-secure":
            return context.ssm_parameter(text)
        case "secretsmanager":
            return _secret(text, context)
        case _:
            raise ProvisioningError(f"Dynamic reference to an unknown service: {service}")


def _secret(text: str, context: Context) -> str:
    """Look up ``id[:SecretString[:json-key[:version-stage[:version-id]]]]``."""
    parts = text.split(":")
    id_length = _ARN_PARTS if parts[0] == "arn" else 1
    secret_id = ":".join(parts[:id_length])
    kind, json_key, stage, version, *_ = [*parts[id_length:], "", "", "", ""]
    if kind not in ("", "SecretString"):
        raise ProvisioningError(f"Dynamic reference to {secret_id}: only SecretString is supported, not {kind}")
    return context.secret(secret_id, json_key or None, stage or None, version or None)
