"""What the emulator wrote down about permissions: each check of a call against the policies of that moment."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from slipway.rehearse.report import Denial, Permissions

_EXECUTION_ROLE = "-cfn-exec-role-"
_DEPLOYER = ":user/deploy-slipway-"


def read_permissions(file: Path, environment: str) -> Permissions:
    """Read the emulator's permissions.jsonl.

    Args:
        file: it; the figures of one that is not there are 0.
        environment: the environment's name.
    """
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    checks = [line for line in lines if line["kind"] == "check"]
    found = list(dict.fromkeys(_denials(checks)))
    depths = Counter(_depth(check["resource"]) for check in checks)
    return Permissions(
        checks=len(checks),
        principals=len({check["principal"] for check in checks}),
        actions=len({check["action"] for check in checks}),
        named=depths["named"],
        any=depths["any"],
        action_only=depths["action_only"],
        denials=tuple(denial for denial in found if _tolerance(denial, environment) is None),
        tolerated=tuple(
            denial.model_copy(update={"fix": reason}) for denial in found if (reason := _tolerance(denial, environment))
        ),
        unknown=tuple(dict.fromkeys(line["message"] for line in lines if line["kind"] == "unknown")),
    )


def _depth(resource: str | None) -> str:
    if resource is None:
        return "action_only"
    return "any" if "*" in resource else "named"


@cache
def _tolerated() -> Sequence[Mapping[str, str]]:
    text = Path(__file__).with_name("tolerated_denials.yaml").read_text(encoding="utf-8")
    return tuple(yaml.safe_load(text)["tolerated"])


def _tolerance(denial: Denial, environment: str) -> str | None:
    """Return why a refusal harms nothing; None if it does."""
    for row in _tolerated():
        patterns = [row[name].replace("{environment}", environment) for name in ("principal", "action", "resource")]
        values = [denial.principal, denial.action, denial.resource or ""]
        if all(map(fnmatchcase, values, patterns)):
            return row["reason"]
    return None


def _denials(checks: Sequence[dict[str, Any]]) -> Iterator[Denial]:
    for check in checks:
        if not check["allowed"]:
            principal, action, resource = check["principal"], check["action"], check["resource"]
            yield Denial(
                principal=principal,
                action=action,
                resource=resource,
                why=check["why"],
                fix=_fix(principal, action, resource or "*"),
            )


def _fix(principal: str, action: str, resource: str) -> str:
    """Say where to write what is missing."""
    if _EXECUTION_ROLE in principal:
        return (
            f"add {action} to `deploy_actions` of the resource type in slipway/catalogue/services, or {resource} to "
            "the scope of the action in slipway/check/deploy_role/scopes.yaml"
        )
    if _DEPLOYER in principal:
        return f"add {action} on {resource} to `deployer_policy` in slipway/check/deploy_role/policies.py"
    statement = json.dumps({"Effect": "Allow", "Action": action, "Resource": resource})
    name = principal.rpartition("/")[2]
    return f"add {statement} to a policy of {name}, or take the condition or the boundary away that forbids it"
