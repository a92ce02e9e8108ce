"""What the emulator wrote down about permissions, read for the report."""

import json
from pathlib import Path
from typing import Any

import pytest

from slipway.rehearse.permissions import read_permissions
from slipway.rehearse.report import Permissions

ACCOUNT = "arn:aws:iam::123456789012"
FUNCTION = f"{ACCOUNT}:role/slipway-small-storage-Emptier-AbC"
EXECUTION = f"{ACCOUNT}:role/cdk-hnb659fds-cfn-exec-role-123456789012-us-west-2"
DEPLOYER = f"{ACCOUNT}:user/deploy-slipway-small-deployer"


def check(principal: str, action: str, resource: str | None, *, allowed: bool) -> dict[str, Any]:
    return {
        **{"kind": "check", "principal": principal, "operation": action, "action": action, "resource": resource},
        **{"context": {}, "identity": [], "boundary": None, "resource_policy": None, "allowed": allowed},
        "why": "no policy of the principal allows it",
    }


def read(folder: Path, *lines: dict[str, Any]) -> Permissions:
    file = folder / "permissions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return read_permissions(file, "small")


def test_checks_are_counted_by_how_much_they_say(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {"kind": "document", "number": 0, "text": {}},
        check(FUNCTION, "s3:DeleteObject", "arn:aws:s3:::data/a", allowed=True),
        check(FUNCTION, "s3:ListAllMyBuckets", "*", allowed=True),
        check(EXECUTION, "ec2:CreateVpc", "arn:aws:ec2:us-west-2:123456789012:vpc/*", allowed=True),
        check(EXECUTION, "kms:Decrypt", None, allowed=True),
    )

    assert (found.checks, found.principals, found.actions) == (4, 2, 4)
    assert (found.named, found.any, found.action_only) == (1, 2, 1)
    assert not found.denials
    assert not found.tolerated
    assert not found.unknown


def test_without_an_emulator_nothing_was_checked(tmp_path: Path) -> None:
    assert read_permissions(tmp_path / "permissions.jsonl", "small").checks == 0


@pytest.mark.parametrize(
    ("principal", "where"),
    [
        (EXECUTION, "`deploy_actions` of the resource type in slipway/catalogue/services"),
        (DEPLOYER, "`deployer_policy` in slipway/check/deploy_role/policies.py"),
        (FUNCTION, "to a policy of slipway-small-storage-Emptier-AbC"),
    ],
)
def test_a_denial_says_once_what_to_write_and_where(principal: str, where: str, tmp_path: Path) -> None:
    denied = check(principal, "s3:DeleteObject", "arn:aws:s3:::data/a", allowed=False)

    [denial] = read(tmp_path, denied, denied).denials

    assert (denial.principal, denial.action, denial.resource) == (principal, "s3:DeleteObject", "arn:aws:s3:::data/a")
    assert where in denial.fix
    assert "s3:DeleteObject" in denial.fix


def test_what_a_caller_does_without_is_no_denial(tmp_path: Path) -> None:
    lookup = f"{ACCOUNT}:role/cdk-hnb659fds-lookup-role-123456789012-us-west-2"

    found = read(tmp_path, check(DEPLOYER, "sts:AssumeRole", lookup, allowed=False))

    assert found.denials == ()
    assert "accessStackForLookupBestEffort" in found.tolerated[0].fix


def test_an_unknown_call_is_named_once(tmp_path: Path) -> None:
    unknown = {"kind": "unknown", "message": "no action is known for s3:Nothing"}

    assert read(tmp_path, unknown, unknown).unknown == ("no action is known for s3:Nothing",)
