"""An account in moto with the stacks and nodes of an environment, and programs that do what a test says."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult
from moto.ec2.models.instances import Instance

from slipway.aws.account import Account, open_account
from slipway.remove.leftovers.kind import kinds
from slipway.remove.teardown import compute_fleet, compute_nodes
from tests.remove.teardown.fakes import CLUSTER, NETWORK, REGION, STACKS, FakePrograms, write_assembly

TOPIC = json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_nodes, "POLL_SECONDS", 0)
    monkeypatch.setattr(compute_fleet, "POLL_SECONDS", 0)


@pytest.fixture(autouse=True)
def _only_what_moto_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search a few kinds only: all of them take seconds, and have tests of their own."""
    few = tuple(
        kind for kind in kinds() if kind.kind in ("CloudFormation stack", "EBS volume", "SNS topic", "log group")
    )
    monkeypatch.setattr("slipway.remove.leftovers.look.kinds", lambda: few)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """An empty account."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield open_account(REGION, None)


@dataclass
class SlowTermination:
    """Instances that take their time: they are `shutting-down` for so many polls."""

    polls: int = 3
    going: dict[Instance, int] = field(default_factory=dict)

    def begin(self, instance: Instance) -> Any:
        if instance._state.name == "running":
            self.going[instance] = self.polls
            instance._state.name, instance._state.code = "shutting-down", 32
        return instance._state

    def poll(self, _seconds: float) -> None:
        for instance in list(self.going):
            self.going[instance] -= 1
            if self.going[instance] <= 0:
                del self.going[instance]
                instance._state.name, instance._state.code = "terminated", 48


@pytest.fixture
def slow_termination(monkeypatch: pytest.MonkeyPatch) -> SlowTermination:
    """Trainium nodes as they are."""
    slow = SlowTermination()

    def terminate(instance: Instance) -> Any:
        return slow.begin(instance)

    monkeypatch.setattr(Instance, "terminate", terminate)
    monkeypatch.setattr("slipway.remove.teardown.compute_nodes.time.sleep", slow.poll)
    return slow


@pytest.fixture
def deployed(account: Account) -> Account:
    """The account with the environment's stacks and the cluster's own."""
    for name, tags in {**STACKS, CLUSTER: STACKS[next(iter(STACKS))]}.items():
        account.client("cloudformation").create_stack(
            StackName=name, TemplateBody=TOPIC, Tags=[{"Key": key, "Value": value} for key, value in tags.items()]
        )
    return account


@pytest.fixture
def protected(deployed: Account, monkeypatch: pytest.MonkeyPatch) -> str:
    """Termination protection of the network stack, with the action that moto does not have."""

    def update_termination_protection(response: CloudFormationResponse) -> ActionResult:
        stack = response.cloudformation_backend.get_stack(response._get_param("StackName"))
        stack.enable_termination_protection = bool(response._get_bool_param("EnableTerminationProtection"))
        return ActionResult({"StackId": stack.stack_id})

    monkeypatch.setattr(
        CloudFormationResponse, "update_termination_protection", update_termination_protection, raising=False
    )
    deployed.client("cloudformation").update_termination_protection(StackName=NETWORK, EnableTerminationProtection=True)
    return NETWORK


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    """The environment's cloud assembly."""
    return write_assembly(tmp_path / "assembly")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:
    """A CDK CLI that deletes the stacks, and a pcluster command that stops the fleet at once."""
    fakes = FakePrograms(tmp_path / "bin", boto3.client("cloudformation", region_name=REGION))
    monkeypatch.setattr("slipway.remove.teardown.run.Programs.of_project", lambda _project: fakes)
    return fakes
