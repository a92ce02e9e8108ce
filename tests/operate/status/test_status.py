"""`slipway status` of an environment in moto."""

import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from moto import mock_aws
from rich.console import Console
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.operate.status import look as looking
from slipway.operate.status.model import JobRow, ModelRow, NodeRow, Spend, StackRow, Status
from slipway.operate.status.screen import print_status
from slipway.remove.teardown.jobs import Job

REGION = "us-west-2"
ALARM = {
    "ComparisonOperator": "GreaterThanThreshold",
    "EvaluationPeriods": 1,
    "MetricName": "Fails",
    "Namespace": "Slipway",
    "Period": 60,
    "Statistic": "Sum",
    "Threshold": 0,
}


@pytest.fixture(autouse=True)
def _account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield


@pytest.fixture
def _deployed() -> None:
    stack(
        "slipway-small-operations", "small", {"Topic": {"Type": "AWS::SNS::Topic"}}, {"Dashboard": "https://dashboard"}
    )
    stack("slipway-other-operations", "other", {"Topic": {"Type": "AWS::SNS::Topic"}}, {})
    for tags in (
        {"parallelcluster:node-type": "HeadNode"},
        {"parallelcluster:node-type": "Compute", "parallelcluster:queue-name": "trn1"},
        {"parallelcluster:node-type": "Compute", "parallelcluster:queue-name": "trn1"},
        {"Name": "slipway-small-inference/Models/SmallLlama/Service/Hosts/LaunchTemplate"},
    ):
        start_instance(tags | {"slipway:environment": "small"})
    start_instance({"slipway:environment": "other", "parallelcluster:node-type": "HeadNode"})


def stack(name: str, environment: str, resources: dict[str, object], outputs: dict[str, str]) -> None:
    template = {"Resources": resources, "Outputs": {key: {"Value": value} for key, value in outputs.items()}}
    boto3.client("cloudformation", region_name=REGION).create_stack(
        StackName=name,
        TemplateBody=json.dumps(template),
        Tags=[{"Key": "slipway:environment", "Value": environment}],
    )


def start_instance(tags: dict[str, str]) -> None:
    boto3.client("ec2", region_name=REGION).run_instances(
        ImageId="ami-12c6146b",
        MinCount=1,
        MaxCount=1,
        InstanceType="trn1.2xlarge",
        TagSpecifications=[
            {"ResourceType": "instance", "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
        ],
    )


def status(*options: str) -> Result:
    return CliRunner().invoke(app, ["status", "-e", "small", *options])


def test_what_is_not_deployed_is_said_and_is_exit_code_1() -> None:
    said = status()

    assert said.exit_code == 1
    assert said.stdout.startswith("environment small is not deployed in account 123456789012, us-west-2")
    assert json.loads(status("--json").stdout)["stacks"] == []


@pytest.mark.usefixtures("_deployed")
def test_the_environments_own_nodes_are_counted_by_what_they_are_for() -> None:
    said = status("--json")

    assert said.exit_code == 0, said.output
    found = json.loads(said.stdout)
    assert [(row["group"], row["count"]) for row in found["nodes"]] == [
        ("head node", 1),
        ("hosts of SmallLlama", 1),
        ("queue trn1", 2),
    ]
    assert [row["name"] for row in found["stacks"]] == ["slipway-small-operations"]
    assert found["links"] == {"dashboard": "https://dashboard", "shell": "slipway connect -e small"}
    assert found["unknown"] == {}


@pytest.mark.usefixtures("_deployed")
def test_an_alarm_that_is_on_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    cloudwatch = boto3.client("cloudwatch", region_name=REGION)
    for name in ("nodes-fail", "nodes-are-well", "of-another-environment"):
        cloudwatch.put_metric_alarm(AlarmName=name, **ALARM)
        cloudwatch.set_alarm_state(
            AlarmName=name, StateValue="OK" if name == "nodes-are-well" else "ALARM", StateReason=""
        )
    # moto's CloudFormation makes no alarms.
    monkeypatch.setattr(
        looking,
        "physical_ids",
        lambda _client, _stack, kind: {"A": "nodes-fail", "B": "nodes-are-well"} if kind.endswith("::Alarm") else {},
    )

    said = status()

    assert said.exit_code == 1
    assert "alarms  ON  nodes-fail" in said.stdout
    assert "of-another-environment" not in said.stdout
    assert "nodes-are-well" not in said.stdout


@pytest.mark.usefixtures("_deployed")
def test_a_head_node_that_does_not_answer_hides_no_other_part(monkeypatch: pytest.MonkeyPatch) -> None:
    stack("trainium-small", "small", {"Topic": {"Type": "AWS::SNS::Topic"}}, {})
    monkeypatch.setattr(looking, "jobs", lambda _account, _cluster: None)
    silent = status()
    monkeypatch.setattr(looking, "jobs", lambda _account, _cluster: (Job("7", "ada", "RUNNING", "1:02", "train"),))
    answered = status()

    assert silent.exit_code == 2
    assert "jobs    unknown: the head node does not answer" in silent.stdout
    assert "queue trn1" in silent.stdout
    assert answered.exit_code == 0
    assert "jobs    7  train  ada  RUNNING  1:02" in answered.stdout


NOW = datetime(2026, 11, 25, tzinfo=UTC)
FULL = Status(
    environment="small",
    account="123456789012",
    region=REGION,
    stacks=tuple(
        StackRow(name=f"slipway-small-{name}", status="UPDATE_ROLLBACK_COMPLETE", since=NOW - timedelta(hours=49))
        for name in ("inference", "network", "operations", "storage", "training")
    ),
    nodes=(NodeRow(group="node group trn1", instance_type="trn1.32xlarge", state="running", count=16),),
    jobs=tuple(
        JobRow(
            id=str(10000 + number),
            name="tanuki-8b-short-v1-train",
            user="ec2-user",
            state="RUNNING",
            elapsed="10-11:12:13",
        )
        for number in range(20)
    ),
    models=(
        ModelRow(
            name="small-llama", served="small-llama/v1", candidate="small-llama/v2", percent=10, tasks=1, wanted=2
        ),
    ),
    alarms=("slipway-small-operations-WatchSmallLlamaNeuronHardwareErrors5558B63C-E1898BFB64F9",),
    spend=Spend(usd=12345.6, budget_usd=20000),
)


def screen(status: Status, width: int) -> list[str]:
    output = io.StringIO()
    print_status(status, NOW, Console(file=output, width=width))
    return [line.rstrip() for line in output.getvalue().splitlines()]


def test_a_screen_is_80_columns_and_names_what_it_leaves_out() -> None:
    shown = screen(FULL, 80)

    assert max(map(len, shown)) <= 80
    assert len(shown) < 24
    assert any("and 13 more" in line for line in shown)
    assert "spend   $12,345.60 of $20,000 this month (62%)" in shown
    assert FULL.needs_attention


LONG = JobRow(id="7", name="[n]" + "ame" * 25, user="u" * 30, state="COMPLETING", elapsed="10-11:12:13")


def test_long_names_of_jobs_are_on_one_line_where_it_has_room() -> None:
    (job,) = [line for line in screen(FULL.model_copy(update={"jobs": (LONG,)}), 160) if line.startswith("jobs")]

    assert job.split() == ["jobs", LONG.id, LONG.name, LONG.user, LONG.state, LONG.elapsed]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_long_names_of_jobs_are_whole_on_a_narrow_terminal(width: int) -> None:
    shown = screen(FULL.model_copy(update={"jobs": (LONG,)}), width)
    joined = re.sub(r"\s", "", "".join(shown))

    assert max(len(line) for line in shown if not line.startswith("environment")) <= width
    assert f"jobs{LONG.id}{LONG.name}{LONG.user}{LONG.state}{LONG.elapsed}" in joined
    assert FULL.alarms[0].removeprefix("slipway-small-operations-") in joined


def test_an_unknown_part_has_its_whole_reason_on_a_narrow_terminal() -> None:
    why = "the head node does not answer through Systems Manager [bold]"
    shown = screen(FULL.model_copy(update={"jobs": (), "unknown": {"jobs": why}}), 40)

    assert why in " ".join(" ".join(shown).split())
