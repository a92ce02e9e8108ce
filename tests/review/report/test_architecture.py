"""What is read of an environment from its templates, and what a change does to it."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from slipway.assembly.stacks import Stack, read_stacks
from slipway.review.changes.model import Changes
from slipway.review.report.architecture import Architecture, read_architecture
from slipway.review.report.architecture.difference import marks, with_removed
from slipway.review.report.picture.svg import flow_sentences, picture
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory
from tests.review.report.plans import REPLACED


@pytest.fixture(scope="module")
def stacks(default: Assembly) -> tuple[Stack, ...]:
    return read_stacks(default.directory)


@pytest.fixture(scope="module")
def architecture(stacks: tuple[Stack, ...]) -> Architecture:
    return read_architecture(stacks)


def edited(stacks: tuple[Stack, ...], role: str) -> tuple[tuple[Stack, ...], dict[str, Any]]:
    """The stacks with a template of their own for one of them, and that template's resources."""
    copies = tuple(
        replace(stack, template=copy.deepcopy(stack.template)) if stack.name.endswith(role) else stack
        for stack in stacks
    )
    return copies, next(stack.template["Resources"] for stack in copies if stack.name.endswith(role))


def test_the_network_and_its_subnets_are_read(architecture: Architecture) -> None:
    assert architecture.network == "VPC 10.40.0.0/16"
    assert [(subnet.zone, subnet.is_public, subnet.cidr) for subnet in architecture.subnets] == [
        ("usw2-az4", True, "10.40.0.0/24"),
        ("usw2-az1", True, "10.40.1.0/24"),
        ("usw2-az4", False, "10.40.16.0/20"),
        ("usw2-az1", False, "10.40.32.0/20"),
    ]


def test_parts_stand_where_the_templates_put_them(architecture: Architecture) -> None:
    zones = {subnet.id: (subnet.zone, subnet.is_public) for subnet in architecture.subnets}
    places = {part.title: sorted(zones[subnet] for subnet in part.subnets) for part in architecture.parts}

    assert places["NAT gateway"] == [("usw2-az4", True)]
    assert places["Head node"] == places["Queue trn1"] == places["FSx for Lustre"] == [("usw2-az4", False)]
    assert places["Load balancer"] == places["Inference hosts"] == [("usw2-az1", False), ("usw2-az4", False)]
    assert places["Data bucket"] == []


def test_what_stands_in_a_subnet_of_somebody_else_is_among_the_other_services(stacks: tuple[Stack, ...]) -> None:
    elsewhere, resources = edited(stacks, "-storage")
    file_system = next(resource for resource in resources.values() if resource["Type"] == "AWS::FSx::FileSystem")
    file_system["Properties"]["SubnetIds"] = ["subnet-0123456789abcdef0"]
    elsewhere, network = edited(elsewhere, "-network")
    subnet = next(resource for resource in network.values() if resource["Type"] == "AWS::EC2::Subnet")
    subnet["Properties"]["AvailabilityZoneId"] = {"Fn::GetAtt": ["Zones", "First"]}

    architecture = read_architecture(elsewhere)

    assert next(part.place for part in architecture.parts if part.title == "FSx for Lustre") == "regional"
    assert architecture.subnets[0].zone == "zone unknown"
    assert "FSx for Lustre" in picture(architecture)


def test_parts_have_the_settings_that_matter(architecture: Architecture) -> None:
    details = {part.title: part.details for part in architecture.parts}

    assert details["Queue trn1"] == ("trn1.32xlarge, 0\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}4", "on demand")
    assert details["FSx for Lustre"] == ("4,800 GiB", "PERSISTENT_2, 250 MB/s per TiB")
    assert details["Budget"] == ("5,000 USD a month",)


def test_the_data_flows_as_the_templates_wire_it(architecture: Architecture) -> None:
    assert flow_sentences(architecture) == [
        "Users to Head node: log-in with Session Manager",
        "Clients to Load balancer: requests",
        "Load balancer to Model tanuki-8b: requests by model",
        "Model tanuki-8b to Inference hosts: its tasks",
        "Data bucket to FSx for Lustre: import into /data",
        "FSx for Lustre to Data bucket: export of /data",
        "FSx for Lustre to Checkpoints bucket: export of /checkpoints",
        "FSx for Lustre to Queue trn1 and Queue cpu: mounted file system",
        "Queue trn1 and Queue cpu to Models bucket: trained models",
        "Models bucket to Inference hosts: model to serve",
        next(sentence for sentence in flow_sentences(architecture) if "alarms to Notifications: alerts" in sentence),
        "Budget to Notifications: alerts",
    ]


def test_a_flow_goes_when_its_proof_goes(stacks: tuple[Stack, ...]) -> None:
    without, resources = edited(stacks, "-storage")
    resources.pop(next(name for name in resources if name.startswith("LustreDataRepository")))

    assert not [sentence for sentence in flow_sentences(read_architecture(without)) if "import into" in sentence]


def test_every_resource_is_drawn_or_counted(each_assembly: Assembly) -> None:
    stacks = read_stacks(each_assembly.directory)
    architecture = read_architecture(stacks)

    resources = sum(len(stack.template["Resources"]) for stack in stacks)
    members = {member for part in architecture.parts for member in part.members}
    # An existing VPC and its subnets are drawn, and are nobody's resources here.
    own_network = each_assembly.environment.network.existing is None
    frames = len(architecture.subnets) + bool(architecture.network) if own_network else 0
    undrawn_kinds = {"AWS::ECS::Service"}
    hidden = sum(
        resource["Type"] in undrawn_kinds and f"{stack.name}/{name}" not in members
        for stack in stacks
        for name, resource in stack.template["Resources"].items()
    )
    assert len(members) + frames + hidden + sum(architecture.not_drawn.values()) == resources


def test_every_flow_joins_parts_that_exist(each_assembly: Assembly) -> None:
    architecture = read_architecture(read_stacks(each_assembly.directory))

    ids = {part.id for part in architecture.parts}
    assert len(ids) == len(architecture.parts)
    assert all({*flow.sources, *flow.targets} <= ids for flow in architecture.flows)


def test_many_vpc_endpoints_are_one_part(assemblies: AssemblyFactory) -> None:
    architecture = read_architecture(read_stacks(assemblies("isolated").directory))
    (endpoints,) = [part for part in architecture.parts if part.kind == "endpoint"]

    assert (endpoints.title, endpoints.details, endpoints.place) == ("16 VPC endpoints", (), "network")
    assert len(endpoints.members) == 16


def test_a_replaced_resource_is_marked_so(architecture: Architecture) -> None:
    found = marks(architecture, architecture, Changes(resources=(REPLACED,)))

    assert {architecture.part(name).title: mark for name, mark in found.items()} == {"FSx for Lustre": "replaced"}


def test_only_the_queue_that_changes_is_marked(stacks: tuple[Stack, ...], architecture: Architecture) -> None:
    before, resources = edited(stacks, "-training")
    cluster = next(resource for resource in resources.values() if resource["Type"] == "Custom::PclusterCluster")
    queues = cluster["Properties"]["ClusterConfiguration"]["Scheduling"]["SlurmQueues"]
    queues[0]["ComputeResources"][0]["MaxCount"] = 2

    found = marks(architecture, read_architecture(before), Changes())

    assert {architecture.part(name).title: mark for name, mark in found.items()} == {"Queue trn1": "changed"}


def test_what_is_gone_stays_in_the_picture(stacks: tuple[Stack, ...], architecture: Architecture) -> None:
    after, resources = edited(stacks, "-network")
    resources.pop(next(name for name, resource in resources.items() if resource["Type"] == "AWS::EC2::NatGateway"))
    head = read_architecture(after)

    drawn = with_removed(head, architecture)
    found = marks(head, architecture, Changes())

    assert {drawn.part(name).title: mark for name, mark in found.items()} == {"NAT gateway": "removed"}
