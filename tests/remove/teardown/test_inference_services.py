"""An endpoint's tasks and hosts end before its stack is deleted."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from moto.autoscaling.models import FakeAutoScalingGroup
from moto.ecs.models import EC2ContainerServiceBackend
from typer.testing import CliRunner

from slipway.aws.account import Account
from slipway.cli import app
from slipway.errors import FailedError
from slipway.remove.teardown.inference_services import InferenceServices, find_inference_services
from tests.remove.teardown.fakes import ENVIRONMENT, STACKS, TAGS, TEMPLATES, FakePrograms, write_assembly

INFERENCE = f"slipway-{ENVIRONMENT}-inference"
RESOURCE = f"service/{INFERENCE}/tanuki"


def service(name: str, count: int, **properties: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::ECS::Service",
        "Properties": {
            "Cluster": {"Ref": "Cluster"},
            "ServiceName": name,
            "TaskDefinition": {"Ref": "Task"},
            "DesiredCount": count,
            **properties,
        },
    }


@pytest.fixture
def endpoint(account: Account) -> Account:
    """An account with a deployed endpoint: two hosts, two tasks, scaling, a protected load balancer, a warm pool."""
    [subnet, other] = account.client("ec2").describe_subnets()["Subnets"][:2]
    subnets = [subnet["SubnetId"], other["SubnetId"]]
    resources = {
        "Cluster": {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": INFERENCE}},
        "Task": {
            "Type": "AWS::ECS::TaskDefinition",
            "Properties": {"ContainerDefinitions": [{"Name": "engine", "Image": "engine:1", "Memory": 128}]},
        },
        "Tanuki": service("tanuki", 2),
        "Canary": service("tanuki-candidate", 0),
        "LoadBalancer": {
            "Type": "AWS::ElasticLoadBalancingV2::LoadBalancer",
            "Properties": {"Name": "endpoint", "Subnets": subnets},
        },
    }
    tags = [{"Key": key, "Value": value} for key, value in TAGS.items()]
    for name in STACKS:
        topic = json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})
        account.client("cloudformation").create_stack(StackName=name, TemplateBody=topic, Tags=tags)
    account.client("cloudformation").create_stack(
        StackName=INFERENCE, TemplateBody=json.dumps({"Resources": resources}), Tags=tags
    )
    account.client("ecs").update_service(cluster=INFERENCE, service="tanuki", desiredCount=2)
    account.client("application-autoscaling").register_scalable_target(
        ServiceNamespace="ecs",
        ResourceId=RESOURCE,
        ScalableDimension="ecs:service:DesiredCount",
        MinCapacity=2,
        MaxCapacity=4,
    )
    return account


@pytest.fixture
def group(account: Account) -> str:
    """An Auto Scaling group with two hosts and a warm pool."""
    [subnet] = account.client("ec2").describe_subnets()["Subnets"][:1]
    account.client("autoscaling").create_launch_configuration(
        LaunchConfigurationName="hosts", ImageId="ami-12c6146b", InstanceType="inf2.xlarge"
    )
    account.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName="hosts",
        LaunchConfigurationName="hosts",
        MinSize=0,
        MaxSize=3,
        DesiredCapacity=2,
        VPCZoneIdentifier=subnet["SubnetId"],
    )
    account.client("autoscaling").put_warm_pool(AutoScalingGroupName="hosts", MinSize=1)
    return "hosts"


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An entry for each time that was waited."""
    seen: list[str] = []
    monkeypatch.setattr("slipway.remove.teardown.inference_services.time.sleep", lambda _: seen.append("poll"))
    return seen


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    return write_assembly(tmp_path / "endpoint", {**TEMPLATES, INFERENCE: {"Cluster": {"Type": "AWS::ECS::Cluster"}}})


def stack_id(account: Account) -> str:
    return str(account.client("cloudformation").describe_stacks(StackName=INFERENCE)["Stacks"][0]["StackId"])


def scalable_target(account: Account) -> dict[str, Any]:
    found: dict[str, Any] = account.client("application-autoscaling").describe_scalable_targets(
        ServiceNamespace="ecs", ResourceIds=[RESOURCE]
    )["ScalableTargets"][0]
    return found


def test_tasks_end_and_scaling_does_not_bring_them_back(endpoint: Account, polls: list[str]) -> None:
    told: list[str] = []
    services = find_inference_services(endpoint, [stack_id(endpoint)])
    assert [str(service) for service in services.services()] == ["tanuki: 2 tasks", "tanuki-candidate: 0 tasks"]

    services.end(timeout_seconds=60, tell=told.append)

    assert {service.tasks for service in services.services()} == {0}
    assert told == ["tanuki: no task is wanted any more"]
    target = scalable_target(endpoint)
    assert target["MinCapacity"] == 0
    assert set(target["SuspendedState"].values()) == {True}
    services.end(timeout_seconds=60, tell=told.append)
    assert len(told) == 1


def test_it_waits_until_the_last_task_has_drained(
    endpoint: Account, polls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    update = EC2ContainerServiceBackend.update_service

    def slow(backend: EC2ContainerServiceBackend, properties: dict[str, Any]) -> Any:
        found = update(backend, properties)
        found.running_count = 2
        return found

    def pass_time(_: float) -> None:
        polls.append("poll")
        monkeypatch.setattr(EC2ContainerServiceBackend, "update_service", update)
        if len(polls) == 3:
            endpoint.client("ecs").update_service(cluster=INFERENCE, service="tanuki", desiredCount=0)

    monkeypatch.setattr(EC2ContainerServiceBackend, "update_service", slow)
    monkeypatch.setattr("slipway.remove.teardown.inference_services.time.sleep", pass_time)
    told: list[str] = []

    find_inference_services(endpoint, [stack_id(endpoint)]).end(timeout_seconds=60, tell=told.append)

    assert told[1:] == ["draining: tanuki: 2 tasks"] * 3


def test_tasks_that_never_drain_end_with_their_hosts(
    endpoint: Account, polls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint.client("ecs"), "update_service", lambda **_: None)
    told: list[str] = []

    find_inference_services(endpoint, [stack_id(endpoint)]).end(timeout_seconds=0, tell=told.append)

    assert told[-1] == "tanuki: 2 tasks after 0 minutes: they end with their hosts"


def test_busy_tasks_lose_their_protection_ten_at_a_time(
    endpoint: Account, polls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [f"arn:aws:ecs:us-west-2:123456789012:task/{INFERENCE}/{number}" for number in range(12)]
    monkeypatch.setattr(
        EC2ContainerServiceBackend,
        "list_tasks",
        lambda _, *wanted: [SimpleNamespace(task_arn=arn) for arn in tasks if "tanuki" in wanted],
    )
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(
        endpoint.client("ecs"), "update_task_protection", lambda **wanted: asked.append(wanted), raising=False
    )

    find_inference_services(endpoint, [stack_id(endpoint)]).end(timeout_seconds=60, tell=lambda _: None)

    assert [len(call["tasks"]) for call in asked] == [10, 2]
    assert {(call["cluster"], call["protectionEnabled"]) for call in asked} == {(INFERENCE, False)}


def test_watchers_on_every_host_end_with_their_hosts(endpoint: Account, polls: list[str]) -> None:
    [task] = endpoint.client("ecs").list_task_definitions()["taskDefinitionArns"]
    watcher = endpoint.client("ecs").create_service(
        cluster=INFERENCE, serviceName="watcher", schedulingStrategy="DAEMON", taskDefinition=task, desiredCount=2
    )["service"]["serviceArn"]

    assert InferenceServices(endpoint, (watcher,), ()).services() == []


def test_hosts_and_the_warm_pool_end(account: Account, group: str, polls: list[str]) -> None:
    told: list[str] = []

    InferenceServices(account, (), (group,)).end(timeout_seconds=60, tell=told.append)

    [found] = account.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[group])[
        "AutoScalingGroups"
    ]
    assert (found["MinSize"], found["MaxSize"], found["DesiredCapacity"], found["Instances"]) == (0, 0, 0, [])
    assert "WarmPoolConfiguration" not in found


def test_hosts_that_never_end_are_an_unfinished_teardown(
    account: Account, group: str, polls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeAutoScalingGroup, "set_desired_capacity", lambda *_: None)
    with pytest.raises(FailedError, match="after 0 minutes there are still inference hosts: 2 in hosts"):
        InferenceServices(account, (), (group,)).end(timeout_seconds=0, tell=lambda _: None)


def test_the_command_says_what_it_stops_and_asks_for_protection_first(
    endpoint: Account, assembly: Path, programs: FakePrograms, polls: list[str]
) -> None:
    [balancer] = endpoint.client("elbv2").describe_load_balancers()["LoadBalancers"]
    endpoint.client("elbv2").modify_load_balancer_attributes(
        LoadBalancerArn=balancer["LoadBalancerArn"],
        Attributes=[{"Key": "deletion_protection.enabled", "Value": "true"}],
    )
    tasks: list[int] = []
    programs.before_each = lambda: tasks.extend(
        row["desiredCount"]
        for row in endpoint.client("ecs").describe_services(cluster=INFERENCE, services=["tanuki"])["services"]
    )
    command = ["destroy", "--assembly", str(assembly), "--yes"]

    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2
    assert "tanuki: 2 tasks" in refused.output
    assert "load balancer endpoint has deletion protection; --unprotect takes it off" in refused.output
    assert tasks == []

    done = CliRunner().invoke(app, [*command, "--unprotect"])
    assert tasks[:1] == [0], done.output
    assert "endpoint: deletion protection is off" in done.output
