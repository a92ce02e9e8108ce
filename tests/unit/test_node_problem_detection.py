"""The Neuron node problem detector: what runs on the hosts, and what it may do."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk.assertions import Template

from neuron_constructs.inference.node_problem_detection import NodeProblemDetection, NodeProblemDetectionProps
from tests.assembly import cdk_context
from tests.pack_findings import pack_findings

KERNEL_LINE = "neuron: NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR instance-id=i-0 hostname=h nd-id=0"

STATUS_LINE = (
    (
        "I1122 02:00:00.000000 1 log_monitor.go:160] New status generated: &{Source:kernel-monitor Events:[] "
        "Conditions:[{Type:NeuronHealth Status:True Transition:2026-11-22 Reason:{reason} Message:kernel}]}"
    )
    .replace("{Source", "{{Source")
    .replace("[{Type", "[{{Type")
    .replace("}]}", "}}]}}")
)


def detection_stack(app: cdk.App) -> cdk.Stack:
    """A stack with two groups of hosts and the detection."""
    stack = cdk.Stack(app, "Test")
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-1",
        availability_zones=["us-west-2a"],
        private_subnet_ids=["subnet-1"],
        private_subnet_route_table_ids=["rtb-1"],
    )
    cluster = ecs.Cluster.from_cluster_attributes(
        stack, "Cluster", cluster_name="llm", vpc=vpc, security_groups=[], has_ec2_capacity=True
    )
    groups = [
        autoscaling.AutoScalingGroup(
            stack,
            name,
            vpc=vpc,
            instance_type=ec2.InstanceType("inf2.xlarge"),
            machine_image=ec2.MachineImage.generic_linux({"us-west-2": "ami-1"}),
        )
        for name in ("First", "Second")
    ]
    NodeProblemDetection(
        stack,
        "Detection",
        NodeProblemDetectionProps(
            cluster=cluster, auto_scaling_groups=groups, log_retention=logs.RetentionDays.ONE_WEEK
        ),
    )
    return stack


def app(directory: Path | None = None) -> cdk.App:
    """An app of an account and a Region."""
    return cdk.App(context=cdk_context(), outdir=str(directory) if directory else None)


@pytest.fixture(scope="module")
def template() -> Template:
    """The template of that stack."""
    return Template.from_stack(detection_stack(app()))


def definition(template: Template) -> dict[str, Any]:
    """The task definition's properties."""
    (resource,) = template.find_resources("AWS::ECS::TaskDefinition").values()
    properties: dict[str, Any] = resource["Properties"]
    return properties


def container(template: Template, name: str) -> dict[str, Any]:
    """One container of the task."""
    (found,) = (each for each in definition(template)["ContainerDefinitions"] if each["Name"] == name)
    return dict(found)


def test_one_task_runs_on_every_host_and_takes_no_network_interface(template: Template) -> None:
    (service,) = template.find_resources("AWS::ECS::Service").values()

    assert service["Properties"]["SchedulingStrategy"] == "DAEMON"
    assert service["Properties"]["DeploymentConfiguration"]["MaximumPercent"] == 100
    assert "DesiredCount" not in service["Properties"]
    assert definition(template)["NetworkMode"] == "host"


def test_it_leaves_the_engine_its_memory(template: Template) -> None:
    limits = [each["Memory"] for each in definition(template)["ContainerDefinitions"]]

    # Beside the engine's share of a host 3.5 GiB are left, of which Mountpoint may take 2.
    assert sum(limits) <= 512


def test_images_are_pinned_and_only_the_detector_is_privileged(template: Template) -> None:
    detector, recovery = container(template, "Detector"), container(template, "Recovery")

    assert re.search(r"@sha256:[0-9a-f]{64}$", detector["Image"])
    assert re.search(r":v?\d+\.\d+\.\d+$", recovery["Image"])
    assert (detector["Privileged"], recovery.get("Privileged", False)) == (True, False)
    assert detector["ReadonlyRootFilesystem"] is recovery["ReadonlyRootFilesystem"] is True
    assert recovery["LinuxParameters"]["Capabilities"]["Drop"] == ["ALL"]
    assert detector["LinuxParameters"]["Devices"] == [
        {"HostPath": "/dev/kmsg", "ContainerPath": "/dev/kmsg", "Permissions": ["read"]}
    ]
    assert {"Name": "ENABLE_RECOVERY", "Value": "true"} in recovery["Environment"]


def test_the_command_writes_a_configuration_that_knows_the_drivers_errors(template: Template, tmp_path: Path) -> None:
    made = container(template, "Detector")
    (script,) = made["Command"]
    assert [each["ContainerPath"] for each in made["LinuxParameters"]["Tmpfs"]] == ["/config"]
    started = tmp_path / "node-problem-detector"
    started.write_text('#!/bin/sh\necho "$@"\n')
    started.chmod(0o755)

    here = script.replace("/config", str(tmp_path)).replace("exec /node", f"exec {tmp_path}/node")
    done = subprocess.run([*made["EntryPoint"], here], capture_output=True, text=True, check=True)

    monitor = tmp_path / "kernel-monitor.json"
    assert f"--config.system-log-monitor={monitor}" in done.stdout
    assert "--enable-k8s-exporter=false" in done.stdout
    rules = json.loads(monitor.read_text())["rules"]
    matching = [rule["reason"] for rule in rules if re.search(rule["pattern"], KERNEL_LINE)]
    assert matching == ["NeuronHasError_HBM_UNCORRECTABLE_ERROR"]
    assert {rule["condition"] for rule in rules} == {"NeuronHealth"}


def test_what_the_detector_says_of_an_error_is_counted(template: Template) -> None:
    (found,) = template.find_resources("AWS::Logs::MetricFilter").values()
    pattern = found["Properties"]["FilterPattern"]
    (transformation,) = found["Properties"]["MetricTransformations"]

    # Between percent signs stands a regular expression.
    assert pattern[0] == pattern[-1] == "%"
    assert re.search(pattern[1:-1], STATUS_LINE.format(reason="NeuronHasError_DMA_ERROR"))
    assert not re.search(pattern[1:-1], STATUS_LINE.format(reason="NeuronHasNoError"))
    assert (transformation["MetricNamespace"], transformation["MetricValue"]) == ("Slipway/Inference", "1")
    assert transformation["MetricName"] == "NodeProblems-llm"


def test_it_may_replace_hosts_of_these_groups_alone(template: Template) -> None:
    (policy,) = template.find_resources("AWS::IAM::ManagedPolicy").values()
    statements = policy["Properties"]["PolicyDocument"]["Statement"]
    changing = [one for one in statements if one["Action"] == "autoscaling:SetInstanceHealth"]
    counting = [one for one in statements if one["Action"] == "cloudwatch:PutMetricData"]

    assert [len(one["Resource"]) for one in changing] == [2]
    assert "autoScalingGroupName/" in json.dumps(changing)
    assert [one["Condition"] for one in counting] == [{"StringEquals": {"cloudwatch:namespace": "NeuronHealthCheck"}}]
    rest = {action for one in statements for action in _actions(one)} - {
        "autoscaling:SetInstanceHealth",
        "cloudwatch:PutMetricData",
    }
    assert all(action.split(":")[1].startswith("Describe") for action in rest)


def _actions(statement: dict[str, Any]) -> list[str]:
    action = statement["Action"]
    return [action] if isinstance(action, str) else action


def test_the_packs_find_nothing(tmp_path: Path) -> None:
    made = app(tmp_path)
    detection_stack(made)
    findings = pack_findings(made, tmp_path)

    assert [finding for finding in findings if finding[1].startswith("Test/Detection")] == []
