"""What the template says of the inference hosts."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from neuron_constructs.inference.model import LocalCopy
from slipway import facts
from tests.assembly import cdk_context
from tests.inference_hosts import SCRIPTS, SOURCES, Hosts, hosts
from tests.pack_findings import pack_findings

# Every size of the families that serve, whatever the facts have.
INSTANCE_TYPES = ["inf2.xlarge", "inf2.8xlarge", "inf2.24xlarge", "inf2.48xlarge", "trn1.2xlarge"]


@cache
def with_source(source: str, warm_pool_count: int = 0) -> Hosts:
    """Hosts with a source of the model."""
    return hosts(source=SOURCES[source], warm_pool_count=warm_pool_count)


def statements(found: Hosts) -> dict[str, Any]:
    """The hosts' own policy: resources by action."""
    (policy,) = (
        item["Properties"]["PolicyDocument"]
        for key, item in found.resources("AWS::IAM::ManagedPolicy").items()
        if "Permissions" in key
    )
    return {
        action: statement
        for statement in policy["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }


@pytest.mark.parametrize("instance_type", INSTANCE_TYPES)
def test_each_size_is_told_how_many_devices_it_has(instance_type: str) -> None:
    found = hosts(instance_type=instance_type)
    devices = facts.instance_type(instance_type).neuron_devices

    assert found.launch_template["InstanceType"] == instance_type
    assert f"export SLIPWAY_NEURON_DEVICES={devices}\n" in found.user_data


def test_containers_cannot_take_the_hosts_credentials() -> None:
    options = with_source("mountpoint").launch_template["MetadataOptions"]

    assert options == {"HttpPutResponseHopLimit": 1, "HttpTokens": "required"}


def test_a_host_goes_into_service_only_when_it_says_so() -> None:
    hook = with_source("mountpoint").resource("AWS::AutoScaling::LifecycleHook")

    assert hook["LifecycleTransition"] == "autoscaling:EC2_INSTANCE_LAUNCHING"
    assert hook["DefaultResult"] == "ABANDON"
    assert f"LIFECYCLE_HOOK={hook['LifecycleHookName']}\n" in (SCRIPTS / "host" / "host_state.sh").read_text()


@pytest.mark.parametrize(
    ("source", "seconds"),
    [
        (SOURCES["mountpoint"], 2700),
        (SOURCES["sync"], 2700),
        (LocalCopy(volume_gib=1000, throughput_mib_s=500), 4696),
        (LocalCopy(volume_gib=16384, throughput_mib_s=125), 6000),
    ],
)
def test_the_group_waits_longer_than_a_set_up_and_the_hold_after_it_take(source: Any, seconds: int) -> None:
    found = hosts(source=source)
    told = dict(line[7:].split("=", 1) for line in found.user_data.splitlines() if line.startswith("export "))
    limit = int(told["SLIPWAY_SETUP_SECONDS"]) + int(told["SLIPWAY_HOLD_SECONDS"])

    assert int(told["SLIPWAY_SETUP_SECONDS"]) == seconds
    assert limit < found.resource("AWS::AutoScaling::LifecycleHook")["HeartbeatTimeout"] <= 7200


def test_no_host_starts_before_the_hook_and_the_permissions_are_there() -> None:
    found = with_source("mountpoint", 1)
    needed = [
        key for kind in ("AWS::AutoScaling::LifecycleHook", "AWS::IAM::ManagedPolicy") for key in found.resources(kind)
    ]

    for kind in ("AWS::ECS::CapacityProvider", "AWS::AutoScaling::WarmPool"):
        (resource,) = found.resources(kind).values()
        assert set(needed) <= set(resource["DependsOn"])


def test_a_host_may_answer_for_its_own_group_only() -> None:
    found = with_source("mountpoint")
    (group,) = found.resources("AWS::AutoScaling::AutoScalingGroup")
    allowed = statements(found)

    for action in ("autoscaling:CompleteLifecycleAction", "autoscaling:SetInstanceHealth"):
        assert json.dumps(allowed[action]["Resource"]).endswith(
            f':autoScalingGroup:*:autoScalingGroupName/", {{"Ref": "{group}"}}]]}}'
        )
    assert allowed["cloudwatch:PutMetricData"]["Condition"] == {
        "StringEquals": {"cloudwatch:namespace": "Slipway/Inference"}
    }
    assert ".zip" in json.dumps(allowed["s3:GetObject"]["Resource"])
    sessions = {action for action in allowed if action.startswith(("ssm:", "ssmmessages:"))}
    assert {action for action, statement in allowed.items() if statement["Resource"] == "*"} - sessions == {
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "cloudwatch:PutMetricData",
    }


def test_every_call_of_the_scripts_is_allowed() -> None:
    calls = {
        "describe-auto-scaling-instances": "autoscaling:DescribeAutoScalingInstances",
        "describe-auto-scaling-groups": "autoscaling:DescribeAutoScalingGroups",
        "complete-lifecycle-action": "autoscaling:CompleteLifecycleAction",
        "set-instance-health": "autoscaling:SetInstanceHealth",
        "create-log-stream": "logs:CreateLogStream",
        "put-log-events": "logs:PutLogEvents",
        "put-metric-data": "cloudwatch:PutMetricData",
    }
    scripts = "".join(path.read_text() for path in (SCRIPTS / "host").iterdir() if path.is_file())

    assert {call for call in calls if call in scripts} == set(calls)
    assert set(calls.values()) <= set(statements(with_source("mountpoint")))


def test_a_copy_has_a_volume_of_its_own_that_is_as_fast_as_asked_for() -> None:
    volumes = {each["DeviceName"]: each["Ebs"] for each in with_source("sync").launch_template["BlockDeviceMappings"]}

    assert volumes["/dev/xvdb"] == {
        "DeleteOnTermination": True,
        "Encrypted": True,
        "Iops": 4000,
        "Throughput": 1000,
        "VolumeSize": 200,
        "VolumeType": "gp3",
    }
    assert volumes["/dev/xvda"]["Encrypted"]
    for source in ("mountpoint", "lustre"):
        assert len(with_source(source).launch_template["BlockDeviceMappings"]) == 1


def rules(found: Hosts, direction: str) -> list[tuple[int, int, str]]:
    """The rules of the hosts' security group."""
    (group,) = (
        item["Properties"]
        for key, item in found.resources("AWS::EC2::SecurityGroup").items()
        if key.startswith("Hosts")
    )
    return [(rule["FromPort"], rule["ToPort"], rule["CidrIp"]) for rule in group.get(f"SecurityGroup{direction}", [])]


def test_only_a_host_with_a_file_system_is_a_client_of_it() -> None:
    for source, member in (("lustre", True), ("mountpoint", False), ("sync", False)):
        found = with_source(source)
        (interface,) = found.launch_template["NetworkInterfaces"]
        assert ("sg-0123456789abcdef0" in interface["Groups"]) == member
        assert rules(found, "Egress") == [(443, 443, "0.0.0.0/0")]
        assert rules(found, "Ingress") == []


def test_the_warm_pool_holds_as_many_hosts_as_asked_for_and_takes_none_back() -> None:
    pool = hosts(warm_pool_count=2, max_count=8).resource("AWS::AutoScaling::WarmPool")

    assert (pool["MinSize"], pool["MaxGroupPreparedCapacity"], pool["PoolState"]) == (2, 2, "Stopped")
    assert pool["InstanceReusePolicy"] == {"ReuseOnScaleIn": False}
    assert with_source("mountpoint").resources("AWS::AutoScaling::WarmPool") == {}


def test_the_warm_pool_waits_for_a_model() -> None:
    def is_chosen(stack: cdk.Stack) -> cdk.CfnCondition:
        return cdk.CfnCondition(stack, "Chosen", expression=cdk.Fn.condition_equals(1, 1))

    (pool,) = hosts(warm_pool_count=1, is_chosen=is_chosen).resources("AWS::AutoScaling::WarmPool").values()

    assert pool["Condition"] == "Chosen"


@pytest.mark.parametrize(("needs_log_in", "warm_pool_count", "may_pull"), [(True, 1, True), (True, 0, False)])
def test_only_a_host_that_pulls_by_itself_may_read_images(
    needs_log_in: bool, warm_pool_count: int, may_pull: bool
) -> None:
    found = hosts(image_needs_log_in=needs_log_in, warm_pool_count=warm_pool_count)
    policies = json.dumps(
        [
            role["Properties"]["ManagedPolicyArns"]
            for role in found.resources("AWS::IAM::Role").values()
            if "ManagedPolicyArns" in role["Properties"]
        ]
    )

    assert ("AmazonEC2ContainerRegistryPullOnly" in policies) == may_pull


def test_hosts_can_be_destroyed_with_their_tasks() -> None:
    (provider,) = with_source("mountpoint").resources("AWS::ECS::CapacityProvider").values()
    settings = provider["Properties"]["AutoScalingGroupProvider"]

    assert settings["ManagedTerminationProtection"] == "DISABLED"
    assert settings["ManagedDraining"] == "ENABLED"
    assert settings["ManagedScaling"]["TargetCapacity"] == 100


def test_a_changed_script_changes_the_launch_template(tmp_path: Path) -> None:
    for path in (SCRIPTS / "host").iterdir():
        if path.is_file():
            target = tmp_path / "host" / path.name
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
    (tmp_path / "user_data.sh").write_bytes((SCRIPTS / "user_data.sh").read_bytes())
    before = hosts(set_up_scripts=tmp_path).user_data
    (tmp_path / "host" / "host_proof.sh").write_text("# changed\n")

    assert hosts(set_up_scripts=tmp_path).user_data != before


def test_what_is_uploaded_is_each_script_and_no_link(tmp_path: Path) -> None:
    app = cdk.App(outdir=str(tmp_path))
    hosts(app)
    app.synth()
    (uploaded,) = tmp_path.glob("asset.*")

    assert not [path for path in uploaded.iterdir() if path.is_symlink()]
    assert {path.name: path.read_bytes() for path in uploaded.iterdir()} == {
        path.name: path.read_bytes() for path in (SCRIPTS / "host").iterdir() if path.is_file()
    }


def test_the_prefix_may_be_a_parameter_of_the_template() -> None:
    lines = hosts(prefix=lambda stack: cdk.CfnParameter(stack, "Served").value_as_string).user_data.splitlines()

    assert "export SLIPWAY_MODEL_PREFIX='served'" in lines
    assert "export SLIPWAY_MODEL_MOUNT='/mnt/models/served'" in lines
    assert "export SLIPWAY_MODEL_DEVICE='s3://llm-models/served/'" in lines


@pytest.mark.parametrize("source", SOURCES)
def test_the_packs_find_nothing_in_the_hosts(source: str, tmp_path: Path) -> None:
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path))
    hosts(app, source=SOURCES[source], warm_pool_count=1, image_needs_log_in=True)

    found = pack_findings(app, tmp_path)

    # The rest of this stack is no example.
    assert [finding for finding in found if finding[1].startswith("Inference/Hosts")] == []


@pytest.mark.parametrize(("capacity_block", "market"), [(True, {"MarketType": "capacity-block"}), (False, None)])
def test_reserved_hosts_start_in_their_reservation_alone(capacity_block: bool, market: Any) -> None:
    found = hosts(capacity_reservation_id="cr-0123456789abcdef0", capacity_block=capacity_block).launch_template

    assert found["CapacityReservationSpecification"] == {
        "CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}
    }
    assert found.get("InstanceMarketOptions") == market
    others = with_source("sync").launch_template
    assert not {"CapacityReservationSpecification", "InstanceMarketOptions"} & others.keys()
