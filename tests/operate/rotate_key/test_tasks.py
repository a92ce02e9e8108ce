"""How the replacement of tasks is followed: answers of Amazon ECS that botocore's own model accepts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from slipway.errors import FailedError
from slipway.operate.rotate_key import tasks
from slipway.operate.rotate_key.tasks import POLL_SECONDS, Tasks
from tests.operate.rotate_key.account import TARGETS, Clock

OURS, ANOTHER = "ecs-svc/2", "ecs-svc/3"
ARN = "arn:aws:ecs:us-east-1:111122223333:service/cluster/llama"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(tasks, "time", clock)
    return clock


@pytest.fixture
def ecs() -> Iterator[Stubber]:
    client = boto3.client("ecs", "us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing")
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def service(state: str, *, primary: str = OURS, desired_count: int = 1) -> Mapping[str, Any]:
    """The service with the deployment that counts, and one whose tasks still run."""
    return {
        "serviceName": "llama",
        "serviceArn": ARN,
        "desiredCount": desired_count,
        "loadBalancers": [{"targetGroupArn": TARGETS, "containerName": "Proxy", "containerPort": 8443}],
        "deployments": [
            {"id": "ecs-svc/1", "status": "ACTIVE", "rolloutState": "COMPLETED"},
            {"id": primary, "status": "PRIMARY", "rolloutState": state},
        ],
    }


def replace(ecs: Stubber, answers: Sequence[Mapping[str, Any]], timeout_seconds: float = 600) -> list[str]:
    """Replace the tasks of one service while Amazon ECS answers so; returns what is said."""
    one = {"cluster": "cluster", "services": [ARN]}
    ecs.add_response("list_services", {"serviceArns": [ARN]}, {"cluster": "cluster", "maxResults": 10})
    ecs.add_response("describe_services", {"services": [service("COMPLETED", primary="ecs-svc/0")]}, one)
    asked = {"cluster": "cluster", "service": "llama", "forceNewDeployment": True}
    ecs.add_response("update_service", {"service": service("IN_PROGRESS")}, asked)
    for answer in answers:
        ecs.add_response("describe_services", {"services": [answer]}, {"cluster": "cluster", "services": ["llama"]})
    said = list[str]()
    Tasks(ecs.client, "cluster", timeout_seconds).replace(said.append)
    return said


def test_it_waits_until_the_deployment_is_complete(ecs: Stubber, clock: Clock) -> None:
    said = replace(ecs, [service("IN_PROGRESS"), service("IN_PROGRESS"), service("COMPLETED")])

    assert said == ["llama: its tasks are replaced", "llama: done"]
    assert clock.now == 2 * POLL_SECONDS


@pytest.mark.parametrize(
    "answer",
    [service("FAILED"), service("IN_PROGRESS", primary=ANOTHER), service("COMPLETED", primary=ANOTHER)],
    ids=["failed", "going back", "gone back"],
)
def test_a_deployment_that_ends_otherwise_is_an_error(ecs: Stubber, clock: Clock, answer: Mapping[str, Any]) -> None:
    with pytest.raises(FailedError, match="llama: Amazon ECS has ended this replacement"):
        replace(ecs, [service("IN_PROGRESS"), answer])


def test_it_is_followed_for_so_long(ecs: Stubber, clock: Clock) -> None:
    with pytest.raises(FailedError, match="llama still replaces its tasks"):
        replace(ecs, [service("IN_PROGRESS")] * 4, timeout_seconds=2.5 * POLL_SECONDS)
    assert clock.now == 3 * POLL_SECONDS


def test_a_service_without_tasks_is_not_waited_for(ecs: Stubber, clock: Clock) -> None:
    replace(ecs, [service("IN_PROGRESS", desired_count=0)])

    assert clock.now == 0
