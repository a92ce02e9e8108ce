"""The estimate of a cluster's cost has all that the real ParallelCluster makes of it."""

from pathlib import Path

import pytest

from slipway.assembly.stacks import CLUSTER_TYPE, read_stacks
from slipway.review.cost.estimate import estimate
from slipway.review.judge.assembly import read_assembly
from tests.conftest import AssemblyFactory
from tests.review.judge.quick_judge import ask_parallelcluster

pytestmark = pytest.mark.judge

LINES = {
    "AWS::CloudWatch::Alarm": "alarms that ParallelCluster makes",
    "AWS::CloudWatch::CompositeAlarm": "composite alarm that ParallelCluster makes",
    "AWS::CloudWatch::Dashboard": "dashboard that ParallelCluster makes",
    "AWS::EC2::Volume": "volume of ",
    "AWS::ElasticLoadBalancingV2::LoadBalancer": "network load balancer of login nodes",
    "AWS::Route53::HostedZone": "private hosted zone",
}
"""What bills while it exists, by resource type, and how its lines begin."""

OF_MACHINES = {
    "AWS::AutoScaling::AutoScalingGroup",
    "AWS::AutoScaling::LifecycleHook",
    "AWS::EC2::Instance",
    "AWS::EC2::LaunchTemplate",
    "AWS::EC2::NetworkInterface",
    "AWS::EC2::PlacementGroup",
}
"""Head node, login nodes and compute nodes, which have lines of their own."""

BY_USE = {"AWS::DynamoDB::Table", "AWS::Lambda::Function", "AWS::Logs::LogGroup", "AWS::Logs::MetricFilter"}
FREE = {
    "AWS::CDK::Metadata",
    "AWS::CloudFormation::CustomResource",
    "AWS::CloudFormation::Stack",
    "AWS::CloudFormation::WaitCondition",
    "AWS::CloudFormation::WaitConditionHandle",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::ElasticLoadBalancingV2::Listener",
    "AWS::ElasticLoadBalancingV2::TargetGroup",
    "AWS::IAM::InstanceProfile",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
}


@pytest.mark.parametrize("name", ["default", "team", "isolated"])
def test_nothing_that_parallelcluster_makes_is_left_out(name: str, assemblies: AssemblyFactory, tmp_path: Path) -> None:
    folder = assemblies(name).directory
    made = ask_parallelcluster(read_assembly(folder), tmp_path, []).outcome.resource_types
    lines = [line for line in estimate(read_stacks(folder)).lines if line.resource_type == CLUSTER_TYPE]
    counted = {
        # Of a volume the quantity is its size.
        each: sum(
            1 if each == "AWS::EC2::Volume" else line.idle_quantity for line in lines if line.what.startswith(start)
        )
        for each, start in LINES.items()
    }

    assert made.keys() <= LINES.keys() | OF_MACHINES | BY_USE | FREE
    assert {each: made.get(each, 0) for each in LINES} == counted
