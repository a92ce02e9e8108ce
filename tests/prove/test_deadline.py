"""The deadline deletes an environment whatever state its laptop left it in: 50 times on the emulator."""

import json
import random
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from cfnlint import lint_all  # type: ignore[import-untyped]

from slipway.aws.account import Account
from slipway.errors import RefusedError
from slipway.prove import deadline
from slipway.prove.deadline import TEMPLATE, Deadline, deletion_order, stack_name
from slipway_emulator.faults import Fault, Moment
from tests.assembly import Assembly
from tests.emulator.running import REGION, RunningEmulator, template
from tests.iam.simulator import ACCOUNT, Request, decide

ABORTS = 50
STACKS = ("network", "storage", "training")
ROLE = f"arn:aws:iam::{ACCOUNT}:role/slipway-small-deadline-Role-1A2B3C4D5E6F"


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEmulator]:
    running = RunningEmulator(tmp_path_factory.mktemp("emulator"))
    yield running
    assert running.stop() == 0


@pytest.fixture
def account(emulator: RunningEmulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Account:
    """The emulated account, with a deadline that does not wait for half a minute between its looks."""
    quick = TEMPLATE.read_text(encoding="utf-8").replace('"Seconds": 30', '"Seconds": 1')
    (tmp_path / "deadline.yaml").write_text(quick.replace('"IntervalSeconds": 10', '"IntervalSeconds": 1'), "utf-8")
    monkeypatch.setattr(deadline, "TEMPLATE", tmp_path / "deadline.yaml")
    for name, value in {
        "AWS_ENDPOINT_URL": emulator.endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(deadline, "_OFTEN", {"Delay": 0, "MaxAttempts": 2000})
    return Account(REGION, boto3.Session(region_name=REGION))


def names(environment: str) -> list[str]:
    """The environment's stacks in the order of their deletion."""
    return [f"slipway-{environment}-{stack}" for stack in reversed(STACKS)]


def abandon(emulator: RunningEmulator, environments: Sequence[str]) -> None:
    """Leave environments as a dead laptop does: some stacks, some of them failed, some hard to delete."""
    choice = random.Random(5)
    stacks = [name for one in environments for name in names(one)[::-1][: choice.randint(1, len(STACKS))]]
    resources = {
        part: {
            "Type": "AWS::SSM::Parameter",
            "Properties": {"Type": "String", "Value": part},
            "DependsOn": [before] if before else [],
        }
        for part, before in zip("ABC", (None, "A", "B"), strict=True)
    }
    moments: Sequence[Moment] = ("before create", "after create", "before delete")
    broken = choice.sample(stacks, len(stacks) // 2)
    emulator.faults.ask_for(*(Fault(name, choice.choice("ABC"), choice.choice(moments)) for name in broken))
    for name in stacks:
        emulator.cloudformation.create_stack(
            StackName=name, TemplateBody=template(resources), DisableRollback=choice.random() < 0.5
        )


def statuses(emulator: RunningEmulator, environment: str) -> list[str]:
    pages = emulator.cloudformation.get_paginator("describe_stacks").paginate()
    wanted = names(environment)
    return [stack["StackStatus"] for page in pages for stack in page["Stacks"] if stack["StackName"] in wanted]


def test_after_50_aborts_nothing_is_left(emulator: RunningEmulator, account: Account) -> None:
    environments = [f"abort{number}" for number in range(ABORTS)]
    abandon(emulator, environments)
    assert all(statuses(emulator, environment) for environment in environments)
    for environment in environments:
        Deadline(account, environment, names(environment)).arm(datetime.now(UTC))

    limit = time.monotonic() + 240
    left = environments
    while left and time.monotonic() < limit:
        time.sleep(1)
        left = [environment for environment in left if set(statuses(emulator, environment)) - {"DELETE_COMPLETE"}]

    assert {environment: statuses(emulator, environment) for environment in left} == {}


def test_nothing_is_deleted_before_and_a_proof_that_ends_takes_it_away(
    emulator: RunningEmulator, account: Account
) -> None:
    assert emulator.create(names("kept")[-1], {"A": {"Type": "AWS::SNS::Topic"}}) == "CREATE_COMPLETE"
    armed = Deadline(account, "kept", names("kept"))
    armed.arm(datetime.now(UTC) + timedelta(hours=1))

    with pytest.raises(RefusedError, match="another proof of kept runs"):
        armed.arm(datetime.now(UTC))
    armed.disarm()

    assert statuses(emulator, "kept") == ["CREATE_COMPLETE"]
    found = emulator.cloudformation.list_stacks()["StackSummaries"]
    assert {one["StackStatus"] for one in found if one["StackName"] == stack_name("kept")} == {"DELETE_COMPLETE"}


def test_one_that_is_over_makes_room_for_the_next(account: Account) -> None:
    armed = Deadline(account, "again", names("again")[:1])
    armed.arm(datetime.now(UTC))
    limit = time.monotonic() + 60
    while armed._running() and time.monotonic() < limit:
        time.sleep(0.5)

    armed.arm(datetime.now(UTC) + timedelta(hours=1))
    armed.disarm()


def test_the_template_is_sound() -> None:
    found = lint_all(TEMPLATE.read_text(encoding="utf-8"))

    assert [match for match in found if match.rule.severity != "informational"] == []


def policy() -> Any:
    class Loader(yaml.SafeLoader):
        """No short forms of functions are in the template."""

    found = yaml.load(TEMPLATE.read_text(encoding="utf-8"), Loader)["Resources"]["Role"]["Properties"]
    text = json.dumps(found["Policies"][0]["PolicyDocument"])
    values = {"Partition": "aws", "Region": REGION, "AccountId": ACCOUNT}
    for name, value in values.items():
        text = text.replace(f"${{AWS::{name}}}", value)
    document = json.loads(text.replace("${Environment}", "small"))
    for statement in document["Statement"]:
        statement["Resource"] = statement["Resource"]["Fn::Sub"]
    return document


@pytest.mark.parametrize(
    ("stack", "decision"),
    [("slipway-small-training", "Allowed"), ("slipway-team-training", "ImplicitlyDenied"), ("x", "ImplicitlyDenied")],
)
def test_its_role_deletes_the_environments_stacks_and_no_others(stack: str, decision: str) -> None:
    arn = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{stack}/0c5a1c90-6d1e-11f0-9d3a-0a1b2c3d4e5f"

    assert decide([Request(ROLE, "cloudformation:DeleteStack", arn, [policy()])]) == [decision]


def test_stacks_go_before_what_they_need(default: Assembly) -> None:
    order = deletion_order(default.directory)

    assert set(order) == set(default.templates())
    assert order.index("slipway-default-training") < order.index("slipway-default-storage")
    assert order.index("slipway-default-storage") < order.index("slipway-default-network")
