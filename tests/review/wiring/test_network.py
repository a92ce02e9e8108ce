"""The network of every environment holds together, and nearly every mistake in one is noticed."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from slipway.assembly.stacks import Stack
from slipway.review.wiring.registry import Finding
from slipway.review.wiring.resources import Resources, read_assembly, resources_of
from slipway.review.wiring.rules import RULES
from tests.conftest import AssemblyFactory
from tests.review.wiring.network_mistakes import CHANGES, mistakes

SPOILED = ("team", "kubernetes", "isolated", "apikey")
"""Environments that have every kind of connection between them."""

NOTICED = 0.95


def findings(resources: Resources) -> set[Finding]:
    """What the rules about networks find."""
    rules = [each for each in RULES.values() if each.topic in ("reachability", "network")]
    return {replace(finding, rule=each.id) for each in rules for finding in each.check(resources)}


def test_nearly_every_mistake_in_a_network_is_noticed(assemblies: AssemblyFactory) -> None:
    made, silent = Counter[str](), Counter[str]()
    for name in SPOILED:
        resources = read_assembly(assemblies(name).directory)
        before = findings(resources)
        for mistake in mistakes(resources):
            made[mistake.kind] += 1
            silent[mistake.kind] += not findings(mistake.resources) - before

    assert set(made) == set(CHANGES)
    assert made.total() > 500
    assert 1 - silent.total() / made.total() >= NOTICED, silent
    assert all(silent[each] / made[each] <= 1 / 4 for each in made), silent


def resources_with(**templates: dict[str, Any]) -> Resources:
    """The resources of one stack."""
    return resources_of((Stack("app", "us-west-2", {"Resources": templates}, {}, termination_protection=False),))


def resource(type_: str, **properties: Any) -> dict[str, Any]:
    return {"Type": type_, "Properties": properties}


VPC, SUBNET, TABLE = {"Ref": "Vpc"}, {"Ref": "Subnet"}, {"Ref": "Table"}
PRIVATE = {
    "Vpc": resource("AWS::EC2::VPC", EnableDnsHostnames=True),
    "Subnet": resource("AWS::EC2::Subnet", VpcId=VPC, CidrBlock="10.0.0.0/24"),
    "Table": resource("AWS::EC2::RouteTable", VpcId=VPC),
    "Has": resource("AWS::EC2::SubnetRouteTableAssociation", SubnetId=SUBNET, RouteTableId=TABLE),
}
GROUP = resource("AWS::EC2::SecurityGroup", VpcId=VPC)
OWN_APPS = {
    "a transit gateway leads out": {
        **PRIVATE,
        "Route": resource(
            "AWS::EC2::Route", RouteTableId=TABLE, DestinationCidrBlock="0.0.0.0/0", TransitGatewayId="tgw-1"
        ),
        "Hosts": resource("AWS::AutoScaling::AutoScalingGroup", VPCZoneIdentifier=[SUBNET]),
    },
    "a function without a way out": {
        **PRIVATE,
        "Group": GROUP,
        "Function": resource(
            "AWS::Lambda::Function",
            VpcConfig={"SubnetIds": [SUBNET], "SecurityGroupIds": [{"Fn::GetAtt": ["Group", "GroupId"]}]},
        ),
    },
    "a load balancer with fixed addresses": {
        "Balancer": resource(
            "AWS::ElasticLoadBalancingV2::LoadBalancer", Type="network", SubnetMappings=[{"SubnetId": "subnet-1"}]
        ),
        "Listener": resource(
            "AWS::ElasticLoadBalancingV2::Listener",
            LoadBalancerArn={"Ref": "Balancer"},
            Port=443,
            DefaultActions=[{"Type": "forward", "TargetGroupArn": {"Ref": "Targets"}}],
        ),
        "Targets": resource("AWS::ElasticLoadBalancingV2::TargetGroup", Port=80),
        "Service": {"DependsOn": "Listener"}
        | resource(
            "AWS::ECS::Service",
            LoadBalancers=[{"ContainerName": "a", "ContainerPort": 80, "TargetGroupArn": {"Ref": "Targets"}}],
            NetworkConfiguration={"AwsvpcConfiguration": {"Subnets": ["subnet-1"], "SecurityGroups": ["sg-1"]}},
        ),
    },
    "a database whose port is a parameter": {
        "Database": resource("AWS::RDS::DBInstance", Engine="postgres", Port={"Ref": "Port"}),
    },
    "a route in an existing table": {
        "Route": resource(
            "AWS::EC2::Route", RouteTableId="rtb-1", DestinationCidrBlock="10.9.0.0/16", GatewayId="vgw-1"
        ),
    },
}
"""Sound stacks of somebody's own, as Slipway makes none."""


@pytest.mark.parametrize("name", OWN_APPS)
def test_a_sound_stack_of_ones_own_passes(name: str) -> None:
    errors = {
        finding for finding in findings(resources_with(**OWN_APPS[name])) if RULES[finding.rule].severity == "error"
    }

    assert errors == set()
