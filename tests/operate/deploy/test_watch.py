"""What a deployment's watcher makes of CloudFormation's answers, and of a failure's words."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from slipway.aws.stacks import DeployedStack
from slipway.operate.deploy.troubleshooting import advice, rows
from slipway.operate.deploy.watch import StackProgress
from tests.assembly import PROJECT

START = datetime(2026, 11, 25, tzinfo=UTC)
STACK_ID = "arn:aws:cloudformation:us-west-2:123456789012:stack/tiny/1"


class History:
    """A stack's events, as boto3's paginator gives them: newest first."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def add(self, name: str, status: str, reason: str = "", physical_id: str = "") -> None:
        event = {
            "EventId": str(len(self.events)),
            "StackName": "tiny",
            "LogicalResourceId": name,
            "ResourceType": "AWS::EC2::VPC",
            "PhysicalResourceId": physical_id,
            "ResourceStatus": status,
            "Timestamp": START + timedelta(seconds=len(self.events)),
        }
        self.events.insert(0, event | ({"ResourceStatusReason": reason} if reason else {}))

    def get_paginator(self, _operation: str) -> "History":
        return self

    def paginate(self, **_arguments: str) -> list[dict[str, Any]]:
        return [{"StackEvents": self.events[:2]}, {"StackEvents": self.events[2:]}]


def stack(status: str) -> DeployedStack:
    return DeployedStack("tiny", STACK_ID, status, protected=False, tags={})


def test_resources_done_are_counted_of_those_that_change_and_of_those_that_events_name() -> None:
    history, progress = History(), StackProgress("tiny", frozenset({"A", "B"}))
    history.add("tiny", "UPDATE_IN_PROGRESS", physical_id=STACK_ID)
    history.add("A", "CREATE_IN_PROGRESS")
    history.add("C", "UPDATE_IN_PROGRESS")

    progress.take(stack("UPDATE_IN_PROGRESS"), history)
    assert (progress.done, progress.total) == (0, 3)
    history.add("C", "UPDATE_COMPLETE")
    news = progress.take(stack("UPDATE_IN_PROGRESS"), history)

    assert [event.status for event in news] == ["UPDATE_COMPLETE"]
    assert (progress.done, progress.total) == (1, 3)
    assert set(progress.started) == {"A"}  # what stood before is not what this deployment pays for


def test_what_an_earlier_deployment_did_is_not_counted() -> None:
    history, progress = History(), StackProgress("tiny", frozenset({"A"}))
    history.add("A", "CREATE_FAILED", "no room")
    progress.forget_history(stack("ROLLBACK_COMPLETE"), history)

    assert not progress.take(stack("CREATE_IN_PROGRESS"), history)
    assert (progress.begun, progress.done, progress.total) == (False, 0, 1)


def test_what_was_cancelled_is_no_cause() -> None:
    history, progress = History(), StackProgress("tiny", frozenset())
    history.add("A", "CREATE_FAILED", "Resource creation cancelled")
    history.add("B", "CREATE_FAILED", "You have requested more vCPU capacity than your current vCPU limit of 0")
    history.add("tiny", "ROLLBACK_FAILED", physical_id=STACK_ID)

    events = progress.take(stack("ROLLBACK_FAILED"), history)

    assert [event.logical_id for event in events if event.is_failure] == ["B"]


def test_the_document_lists_the_rows() -> None:
    text = (PROJECT / "docs" / "troubleshooting.md").read_text("utf-8")
    section = text.partition("\n## Deployment\n")[2].partition("\n## ")[0]
    listed = [line for line in section.splitlines() if line.startswith("| ")][1:]

    assert listed == [f"| {row.seen} | {row.means} | {row.do} |" for row in rows()]


@pytest.mark.parametrize(
    ("message", "means"),
    [
        (
            "You have requested more vCPU capacity than your current vCPU limit of 0 allows",
            "a quota, 0 in a new account",
        ),
        # The longest words decide: one message names a role of the CDK and an action that it lacks.
        (
            "User: arn:aws:sts::1:assumed-role/cdk-hnb659fds-cfn-exec-role is not authorized to perform: ec2:CreateVpc",
            "CloudFormation's own role lacks it",
        ),
        ("SSM parameter /cdk-bootstrap/other/version not found in aws://1/us-west-2", "are not bootstrapped"),
    ],
)
def test_a_message_finds_its_row(message: str, means: str) -> None:
    assert means in advice(message)[0]


def test_an_unknown_message_is_not_explained_away() -> None:
    assert advice("something new") == ["see `slipway docs troubleshooting#deployment`"]


def test_links_are_readable_in_a_terminal() -> None:
    for row in rows():
        assert not re.search(r"\]\(", "\n".join(advice(row.seen.replace("`", ""))))
