"""The function behind the budget's topic: it stops the environment and tells people what it did."""

import json
from typing import Any

import pytest
from moto.ecs.models import EC2ContainerServiceBackend

from slipway_pause.handler import NotAllStoppedError, handle
from tests.pause.test_stop_and_start import refused
from tests.pause.world import TARGETS, State, World

BUDGET_SAID = "AWS Budget Notification November 22, 2026\nThe ACTUAL Cost associated with this budget is $501.00."
EVENT = {
    "Records": [{"Sns": {"Subject": "AWS Budgets: test has exceeded your alert threshold", "Message": BUDGET_SAID}}]
}


@pytest.fixture
def inbox(empty: World, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What people are told: a queue on the topic of notifications."""
    sns, sqs = empty.client("sns"), empty.client("sqs")
    topic = sns.create_topic(Name="notifications")["TopicArn"]
    queue = sqs.create_queue(QueueName="people")["QueueUrl"]
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=attributes["QueueArn"])
    monkeypatch.setenv("SLIPWAY_ENVIRONMENT", "test")
    monkeypatch.setenv("SLIPWAY_TARGETS", TARGETS.written())
    monkeypatch.setenv("SLIPWAY_TOPIC_ARN", topic)

    def read() -> Any:
        [message] = sqs.receive_message(QueueUrl=queue)["Messages"]
        return json.loads(message["Body"])

    return read


def test_people_are_told_what_was_stopped_what_bills_on_and_how_to_resume(empty: World, inbox: Any) -> None:
    empty.build(State())
    handle(EVENT, None)
    message = inbox()

    assert message["Subject"] == "Slipway test: budget spent, stopped"
    for words in (
        "compute fleet of trainium: was RUNNING; the head node is asked to terminate its nodes",
        "inference service tanuki: 2 tasks to 0",
        "node group trn1 of slipway-test-kubernetes: 3 nodes to 0",
        "batch jobs wait in the queue and begin anew after `slipway resume`",
        "What stands goes on billing: file systems",
        "slipway resume -e test",
        "nothing stops it again before the next month",
        BUDGET_SAID,
    ):
        assert words in message["Message"]
    assert "NOT stopped" not in message["Message"]
    assert empty.state().fleet == "STOP_REQUESTED"


def test_what_could_not_be_stopped_is_told_first_and_tried_again(
    empty: World, inbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty.build(State())
    with (
        refused(monkeypatch, EC2ContainerServiceBackend, "update_service", "AccessDeniedException"),
        pytest.raises(NotAllStoppedError, match="inference service tanuki"),
    ):
        handle(EVENT, None)
    message = inbox()

    assert message["Subject"] == "Slipway test: budget spent, NOT all of it is stopped"
    before, _, after = message["Message"].partition("\nStopped:")
    assert "inference service tanuki: " in before
    assert "AccessDeniedException" in before
    assert "compute fleet of trainium" in after


def test_nothing_to_stop_is_told_too(inbox: Any) -> None:
    handle(EVENT, None)

    assert "Nothing ran that could be stopped." in inbox()["Message"]


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        # What two public kill switches have seen when a budget was linked to their topic.
        ("SNS Topic Verified!", "SNS Topic arn:aws:sns:us-west-2:123456789012:budget Verified!"),
        ("in another form", "Your Amazon SNS topic was verified by AWS Budgets."),
        (None, "This validates the topic of your budget."),
    ],
)
def test_the_message_with_which_budgets_tries_a_topic_stops_nothing(
    empty: World, inbox: Any, subject: str | None, message: str
) -> None:
    empty.build(State())
    before = empty.state()
    handle({"Records": [{"Sns": {"Subject": subject, "Message": message}}]}, None)
    told = inbox()

    assert empty.state() == before
    assert told["Subject"] == "Slipway test: budget connected, nothing stopped"
    assert message in told["Message"]


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("AWS Budgets: slipway-test-operations-Budget has exceeded your alert threshold", "in another form"),
        ("in another form", BUDGET_SAID),
        (None, '{"budgetName": "verified", "notificationType": "ACTUAL", "threshold": 100.0, "actualAmount": 501.0}'),
        (None, '{"BudgetName": "slipway-test", "NotificationType": "ACTUAL", "BudgetState": "OVER_BUDGET"}'),
        ("AWS Budgets", "a form that nobody has seen"),
    ],
)
def test_an_alert_stops_in_every_form(empty: World, inbox: Any, subject: str | None, message: str) -> None:
    empty.build(State())
    handle({"Records": [{"Sns": {"Subject": subject, "Message": message}}]}, None)

    assert inbox()["Subject"] == "Slipway test: budget spent, stopped"
    assert empty.state().fleet == "STOP_REQUESTED"
