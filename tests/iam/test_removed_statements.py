"""A removed statement is noticed if a call that was allowed fails without it."""

import json
from pathlib import Path
from typing import Any

from tests.iam.removed_statements import OURS, noticed, read_run

ROLE = "arn:aws:iam::123456789012:role/slipway-small-storage-Emptier"
DEPLOYER = "arn:aws:iam::123456789012:user/deploy-slipway-small-deployer"
USED = {"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::slipway-small-data/*"}
TWICE = {"Effect": "Allow", "Action": "s3:Delete*", "Resource": "*"}
UNUSED = {"Effect": "Allow", "Action": "s3:PutObject", "Resource": "*"}
DENIES = {"Effect": "Deny", "Action": "s3:PutObject", "Resource": "*"}


def recorded(folder: Path, *statements: dict[str, Any], principal: str = ROLE) -> Path:
    """Write what an emulator writes: a policy, one call that it allowed, and one that it refused."""
    check: dict[str, Any] = {
        "kind": "check",
        "principal": principal,
        "operation": "s3:DeleteObject",
        "action": "s3:DeleteObject",
        "resource": "arn:aws:s3:::slipway-small-data/a",
        "context": {},
        "identity": [0],
        "boundary": None,
        "resource_policy": None,
        "allowed": True,
        "why": "a policy of the principal",
    }
    lines = [
        {"kind": "document", "number": 0, "text": {"Statement": list(statements)}},
        check,
        {**check, "why": "said again"},
        {**check, "action": "s3:PutObject", "allowed": False},
    ]
    file = folder / "permissions.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return file


def found(file: Path) -> dict[str, bool]:
    run = read_run("small", file)
    assert len(run.checks) == 1, "equal calls count once, refused ones not at all"
    return {json.loads(statement.text)["Action"]: failing for statement, failing in noticed(run)}


def test_a_statement_that_a_call_needs_is_noticed_and_another_is_not(tmp_path: Path) -> None:
    assert found(recorded(tmp_path, USED, UNUSED, DENIES)) == {"s3:DeleteObject": True, "s3:PutObject": False}


def test_of_two_that_allow_the_same_neither_is_noticed(tmp_path: Path) -> None:
    assert found(recorded(tmp_path, USED, TWICE)) == {"s3:DeleteObject": False, "s3:Delete*": False}


def test_environments_share_a_statement(tmp_path: Path) -> None:
    small = {statement for statement, _ in noticed(read_run("small", recorded(tmp_path, USED)))}
    other = json.loads(json.dumps(USED).replace("small", "other"))
    others = {statement for statement, _ in noticed(read_run("other", recorded(tmp_path, other)))}

    assert small == others


def test_whose_statement_it_is(tmp_path: Path) -> None:
    groups = [
        statement.group
        for principal in (ROLE, DEPLOYER, "arn:aws:iam::123456789012:role/cdk-hnb659fds-deploy-role-1-us-west-2")
        for statement, _ in noticed(read_run("small", recorded(tmp_path, USED, principal=principal)))
    ]

    assert groups == ["functions", "the deployer", "the CDK's bootstrap"]
    assert set(groups[:2]) <= set(OURS)
