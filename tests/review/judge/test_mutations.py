"""The judge can fail: each defect put into a shipped environment is found, by the one who should find it."""

import copy
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.inside_parallelcluster.answer import Answer, Level
from tests.conftest import AssemblyFactory
from tests.review.judge.quick_judge import ask_parallelcluster

pytestmark = pytest.mark.judge

BAKED_IMAGE = "ami-0123456789abcdef0"
"""A row of the judge's node_images.yaml, baked with the release and the operating system of the default environment."""


class Draft:
    """A copy of an environment's assembly to put a defect into."""

    def __init__(self, assembly: Mapping[str, Any]) -> None:
        self.assembly = copy.deepcopy(dict(assembly))

    def resources(self, resource_type: str) -> Iterator[dict[str, Any]]:
        """All resources of a type."""
        for stack in self.assembly["stacks"]:
            for resource in stack["template"]["Resources"].values():
                if resource["Type"] == resource_type:
                    yield resource

    @property
    def cluster(self) -> dict[str, Any]:
        """Properties of the custom resource."""
        properties: dict[str, Any] = next(self.resources("Custom::PclusterCluster"))["Properties"]
        return properties

    @property
    def configuration(self) -> dict[str, Any]:
        configuration: dict[str, Any] = self.cluster["ClusterConfiguration"]
        return configuration

    def queue(self, name: str) -> dict[str, Any]:
        queues = {queue["Name"]: queue for queue in self.configuration["Scheduling"]["SlurmQueues"]}
        queue: dict[str, Any] = queues[name]
        return queue


@dataclass(frozen=True)
class Defect:
    """One defect and who must find it."""

    name: str
    put_in: Callable[[Draft], None]
    source: str
    message: str


def unknown_key(draft: Draft) -> None:
    draft.configuration["HeadNode"]["Colour"] = "red"


def configuration_as_text(draft: Draft) -> None:
    draft.cluster["ClusterConfiguration"] = "Region: us-west-2"


def efa_where_there_is_none(draft: Draft) -> None:
    draft.queue("trn1")["ComputeResources"][0].update(InstanceType="trn1.2xlarge", Efa={"Enabled": True})


def subnets_with_public_addresses(draft: Draft) -> None:
    for subnet in draft.resources("AWS::EC2::Subnet"):
        subnet["Properties"]["MapPublicIpOnLaunch"] = True


def no_nat_route(draft: Draft) -> None:
    for route in draft.resources("AWS::EC2::Route"):
        if "NatGatewayId" in route["Properties"]:
            route["Properties"]["DestinationCidrBlock"] = "192.168.0.0/16"


def closed_lustre_port(port: int) -> Callable[[Draft], None]:
    def put_in(draft: Draft) -> None:
        for rule in draft.resources("AWS::EC2::SecurityGroupIngress"):
            if rule["Properties"]["FromPort"] <= port <= rule["Properties"]["ToPort"]:
                rule["Properties"].update(FromPort=1, ToPort=1)

    return put_in


def more_at_least_than_at_most(draft: Draft) -> None:
    draft.queue("trn1")["ComputeResources"][0].update(MinCount=5, MaxCount=4)


def efa_without_a_word_about_placement(draft: Draft) -> None:
    del draft.queue("trn1")["Networking"]["PlacementGroup"]


def capacity_block_without_reservation(draft: Draft) -> None:
    draft.queue("trn1")["CapacityType"] = "CAPACITY_BLOCK"


def capacity_block_that_scales(draft: Draft) -> None:
    draft.queue("block")["ComputeResources"][0]["MinCount"] = 0


def capacity_block_as_on_demand(draft: Draft) -> None:
    draft.queue("block")["CapacityType"] = "ONDEMAND"


def more_nodes_than_reserved(draft: Draft) -> None:
    draft.queue("reserved")["ComputeResources"][0]["MaxCount"] += 1


def unknown_reservation(draft: Draft) -> None:
    draft.queue("reserved")["CapacityReservationTarget"]["CapacityReservationId"] = "cr-00000000000000000"


def zone_without_trainium(draft: Draft) -> None:
    for subnet in draft.resources("AWS::EC2::Subnet"):
        subnet["Properties"]["AvailabilityZoneId"] = "usw2-az3"


def unreadable_script(draft: Draft) -> None:
    draft.configuration["HeadNode"]["Iam"]["AdditionalIamPolicies"] = []


def service_timeout(draft: Draft) -> None:
    draft.cluster["ServiceTimeout"] = 3600


def name_of_a_stack(draft: Draft) -> None:
    draft.cluster["ClusterName"] = draft.assembly["stacks"][-1]["name"]


def public_address_of_private_head_node(draft: Draft) -> None:
    for stack in draft.assembly["stacks"]:
        for logical_id, resource in stack["template"]["Resources"].items():
            if resource["Type"] == "Custom::PclusterCluster":
                outputs = stack["template"].setdefault("Outputs", {})
                outputs["Address"] = {"Value": {"Fn::GetAtt": [logical_id, "headNode.publicIpAddress"]}}


def broken_reference(draft: Draft) -> None:
    draft.configuration["HeadNode"]["Networking"]["SubnetId"] = {"Ref": "Nothing"}


def image_of_the_last_release(draft: Draft) -> None:
    draft.queue("trn1")["Image"] = {"CustomAmi": "ami-0fedcba9876543210"}


def head_node_of_the_last_release(draft: Draft) -> None:
    draft.configuration["HeadNode"]["Image"] = {"CustomAmi": "ami-0fedcba9876543210"}


def image_of_another_system(draft: Draft) -> None:
    draft.configuration["Image"]["Os"] = "ubuntu2404"
    draft.queue("trn1")["Image"] = {"CustomAmi": BAKED_IMAGE}


def unknown_image(draft: Draft) -> None:
    draft.queue("trn1")["Image"] = {"CustomAmi": "ami-11111111111111111"}


def image_text(part: str, wrong: str) -> Callable[[Draft], None]:
    """Put something wrong into the text of every image configuration."""

    def put_in(draft: Draft) -> None:
        for documents in draft.assembly["documents"].values():
            documents.update({path: text.replace(part, wrong) for path, text in documents.items()})

    return put_in


OLD_PARENT = image_text("<<marker:0xbaba:0>>", "arn:aws:imagebuilder:us-west-2:aws:image/ubuntu-20-lts-x86/x.x.x")
OTHER_GROUP = image_text("<<marker:0xbaba:2>>", "sg-00000000000000000")
OTHER_SCRIPT = image_text("<<marker:0xbaba:3>>", "s3://nobody-makes-this-bucket/bake_none.sh")


def no_cluster(draft: Draft) -> None:
    next(draft.resources("Custom::PclusterCluster"))["Type"] = "Custom::Other"


def baked_image(draft: Draft) -> None:
    draft.configuration["HeadNode"]["Image"] = {"CustomAmi": BAKED_IMAGE}
    draft.queue("trn1")["Image"] = {"CustomAmi": BAKED_IMAGE}


NO_DEFECT = Defect("no defect", lambda draft: None, "", "")
BAKED = Defect("no defect with a baked image", baked_image, "", "")

DEFECTS = [
    Defect("unknown key", unknown_key, "ClusterSchema", "HeadNode.Colour: Unknown field"),
    Defect("configuration as text", configuration_as_text, "references", "ClusterConfiguration object"),
    Defect("EFA on trn1.2xlarge", efa_where_there_is_none, "EfaValidator", "trn1.2xlarge"),
    Defect("public subnet", subnets_with_public_addresses, "MultiNetworkInterfacesInstancesValidator", "public IP"),
    Defect("no NAT route", no_nat_route, "subnets without way out", "queue trn1: nodes in subnet-"),
    Defect("port 988 closed", closed_lustre_port(988), "ExistingFsxNetworkingValidator", "988"),
    Defect("port 1020 closed", closed_lustre_port(1020), "closed lustre ports", "1018, 1019, 1020"),
    Defect("min above max", more_at_least_than_at_most, "ComputeResourceSizeValidator", "Max count must be greater"),
    Defect("EFA anywhere", efa_without_a_word_about_placement, "EfaPlacementGroupValidator", "must be explicit"),
    Defect("block without id", capacity_block_without_reservation, "CapacityTypeValidator", "id is required"),
    Defect("zone without Trainium", zone_without_trainium, "types not offered", "is not offered in usw2-az3"),
    Defect("unreadable script", unreadable_script, "unreadable scripts", "head node: neither S3Access nor a policy"),
    Defect("service timeout", service_timeout, "unknown properties", "ServiceTimeout"),
    Defect("name of a stack", name_of_a_stack, "name taken", "is the name of a stack"),
    Defect("absent attribute", public_address_of_private_head_node, "unknown attributes", "headNode.publicIpAddress"),
    Defect("broken reference", broken_reference, "references", "there is no resource Nothing"),
    Defect("image of the last release", image_of_the_last_release, "CustomAmiTagValidator", "with pcluster 3.15.1"),
    Defect("head node of the last release", head_node_of_the_last_release, "CustomAmiTagValidator", "pcluster 3.15.1"),
    Defect("image of another system", image_of_another_system, "AmiOsCompatibleValidator", "is not compatible with"),
    Defect("unknown image", unknown_image, "create-cluster", "ami-11111111111111111"),
    Defect("no cluster", no_cluster, "references", "exactly one Custom::PclusterCluster, it has 0"),
]

IMAGE_BUILD_DEFECTS = [
    Defect("unknown image key", image_text("Components:", "Parts:"), "ImageSchemaValidator", "Unknown field"),
    Defect("old parent image", OLD_PARENT, "InstanceTypeBaseAMICompatibleValidator", "Invalid image"),
    Defect("unknown group of an image", OTHER_GROUP, "SecurityGroupsValidator", "sg-00000000000000000"),
    Defect("missing image script", OTHER_SCRIPT, "missing image scripts", "/bake_none.sh"),
]
"""Defects of the configurations from which node images are built."""

RESERVATION_DEFECTS = [
    Defect("block that scales", capacity_block_that_scales, "ComputeResourceSizeValidator", "Min count must be"),
    Defect("block as on-demand", capacity_block_as_on_demand, "capacity blocks outside their type", "queue block"),
    Defect("reservation too small", more_nodes_than_reserved, "CapacityReservationSizeValidator", "1604"),
    Defect("unknown reservation", unknown_reservation, "create-cluster", "cr-00000000000000000 does not exist"),
]
"""Defects of the environment that has reservations, ultracluster."""


@pytest.fixture(scope="module")
def answers(assemblies: AssemblyFactory, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """The answer to every defect; side by side, because each is a process of several seconds."""
    default, ultracluster = (read_assembly(assemblies(name).directory) for name in ("default", "ultracluster"))
    cases = [(case, default) for case in (BAKED, *IMAGE_BUILD_DEFECTS)]
    # The others are about clusters: without the images that an environment offers to bake, which cost seconds each.
    cases += [(defect, {**default, "documents": {}}) for defect in DEFECTS]
    cases += [(case, {**ultracluster, "documents": {}}) for case in (NO_DEFECT, *RESERVATION_DEFECTS)]

    def answer(case: tuple[Defect, Mapping[str, Any]]) -> tuple[str, Answer]:
        defect, assembly = case
        draft = Draft(assembly)
        defect.put_in(draft)
        return defect.name, ask_parallelcluster(draft.assembly, tmp_path_factory.mktemp(defect.name.replace(" ", "-")))

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return dict(pool.map(answer, cases))


@pytest.mark.parametrize("case", [NO_DEFECT, BAKED], ids=lambda case: case.name)
def test_finds_nothing_where_nothing_is_wrong(case: Defect, answers: Mapping[str, Answer]) -> None:
    outcome = answers[case.name].outcome
    assert [finding for finding in outcome.findings if finding.level is Level.ERROR] == []
    assert outcome.template_resources > 40


def test_builds_the_image_of_every_training_stack(answers: Mapping[str, Answer]) -> None:
    assert answers[BAKED.name].outcome.node_images == ["trainium-xla-2-28-1-ubuntu2204"]


@pytest.mark.parametrize("defect", DEFECTS + IMAGE_BUILD_DEFECTS + RESERVATION_DEFECTS, ids=lambda defect: defect.name)
def test_finds(defect: Defect, answers: Mapping[str, Answer]) -> None:
    findings = answers[defect.name].outcome.findings
    errors = [finding for finding in findings if finding.level is Level.ERROR]
    assert any(error.source == defect.source and defect.message in error.message for error in errors), errors
