from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slipway import facts
from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.checks.machine_images import MAXIMUM_AGE
from slipway.check.preflight.image_uses import image_uses
from slipway.check.preflight.needs import Needs
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.handmade import handmade

IMAGE = "ami-0123456789abcdef0"
ECS = facts.machine_image("ecs-neuron-al2023-20260618").ssm_parameter


def image(**changes: str) -> Mapping[str, Any]:
    """Answer of ec2.DescribeImages with one image."""
    described = {"ImageId": IMAGE, "Architecture": "x86_64", "CreationDate": "2026-10-01T00:00:00.000Z", **changes}
    return {"Images": [described]}


@pytest.fixture
def aws(aws: Aws) -> Aws:
    """The account, in which every image is there."""
    aws.replies |= {"ec2.DescribeImages": image(), "ssm.GetParameter": {"Parameter": {"Value": IMAGE}}}
    aws.now = datetime(2026, 11, 23, tzinfo=UTC)
    return aws


def launched_from(folder: Path, name: object, aws: Aws, ask: Ask, user_data: str = "") -> list[Answer]:
    data = {"ImageId": name, "InstanceType": "m6i.large", "UserData": {"Fn::Base64": user_data}}
    template = {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}}
    return ask("PF12", handmade(folder, {"Hosts": template}), aws)


def with_an_image(needs: Needs) -> Needs:
    """The cluster, with an image of the user's own for all nodes."""
    (stack,) = [stack for stack in needs.stacks if stack.name.endswith("training")]
    template = deepcopy(stack.template)
    for resource in template["Resources"].values():
        if resource["Type"] == CLUSTER_TYPE:
            configuration = resource["Properties"]["ClusterConfiguration"]
            configuration["Image"]["CustomAmi"] = IMAGE
            configuration["Scheduling"]["SlurmQueues"] = []
    return replace(needs, stacks=(replace(stack, template=template),))


@pytest.mark.parametrize("environment", ["default", "kubernetes", "ultracluster"])
def test_images_that_are_there_pass(environment: str, needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    answers = ask("PF12", needs_of(environment), aws)
    assert {answer.status for answer in answers} == {"passed"}


def test_every_way_to_name_an_image_is_read(needs_of: NeedsFactory) -> None:
    names = {use.name for name in ("default", "kubernetes") for use in image_uses(needs_of(name))}
    assert names == {
        ECS,
        "aws-parallelcluster-3.16.1-ubuntu-2204-lts-hvm-x86_64-*",
        "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/neuron/"
        "amazon-eks-node-al2023-x86_64-neuron-1.35-v20260625/image_id",
        "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/"
        "amazon-eks-node-al2023-x86_64-standard-1.35-v20260714/image_id",
    }


def test_a_node_group_that_a_user_added_is_called_by_its_logical_id(needs_of: NeedsFactory) -> None:
    needs = needs_of("kubernetes")
    stacks = tuple(replace(stack, template=deepcopy(stack.template)) for stack in needs.stacks)
    for stack in stacks:
        for resource in stack.template["Resources"].values():
            if resource["Type"] == "AWS::EKS::Nodegroup":
                resource["Properties"].pop("Labels", None)
    purposes = {use.purpose for use in image_uses(replace(needs, stacks=stacks))}
    assert "node group NodeGroupstrn1Group218C336B" in purposes


def test_the_newest_official_image_counts(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    old = {**image()["Images"][0], "ImageId": "ami-old", "CreationDate": "2025-01-01T00:00:00.000Z"}
    aws.replies["ec2.DescribeImages"] = {"Images": [old, *image()["Images"]]}
    answers = ask("PF12", needs_of("ultracluster"), aws)
    assert [answer.message for answer in answers] == [f"{IMAGE} is there"]
    asked = next(call.parameters for call in aws.calls if call.operation == "DescribeImages")
    assert asked["Owners"] == ["amazon"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("al2023-ami-ecs-neuron-hvm-2023.0.20260618-kernel-6.1-x86_64", ("passed", "is there")),
        (
            "al2023-ami-ecs-neuron-hvm-2023.0.20260805-kernel-6.1-x86_64",
            ("failed", "Neuron driver 2.29.0.0 with runtime library 2.26.42.0"),
        ),
        ("ours", ("warning", "EC2 does not say which Neuron driver ami-0123456789abcdef0 (ours) has")),
        ("", ("warning", "(no name) has")),
    ],
)
def test_the_driver_of_the_hosts_image_is_compared_as_far_as_its_name_tells(
    name: str, told: tuple[str, str], tmp_path: Path, aws: Aws, ask: Ask
) -> None:
    aws.replies["ec2.DescribeImages"] = image(Name=name)
    (answer,) = launched_from(tmp_path, IMAGE, aws, ask, "export SLIPWAY_NEURON_RUNTIME=2.26.42.0\n")

    assert (answer.status, told[1] in answer.message) == (told[0], True), answer.message


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (IMAGE, ({"ec2.DescribeImages": Refusal("InvalidAMIID.NotFound")}, "describe-images --region us-west-2")),
        (IMAGE, ({"ec2.DescribeImages": {"Images": []}}, "describe-images --region us-west-2")),
        (
            f"resolve:ssm:{ECS}",
            (
                {"ssm.GetParameter": Refusal("ParameterNotFound")},
                "--path /aws/service/ecs/optimized-ami/amazon-linux-2023/neuron",
            ),
        ),
    ],
)
def test_a_missing_image_fails(name: str, told: tuple[dict[str, Any], str], tmp_path: Path, aws: Aws, ask: Ask) -> None:
    replies, fix = told
    aws.replies |= replies
    (answer,) = launched_from(tmp_path, name, aws, ask)
    assert (answer.status, answer.message) == ("failed", "us-west-2 has no such image")
    assert answer.fix is not None
    assert fix in answer.fix


def test_no_official_image_fails(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeImages"] = {"Images": []}
    (answer,) = ask("PF12", needs_of("ultracluster"), aws)
    assert answer.status == "failed"
    assert answer.fix is not None
    assert "pcluster describe-official-images --region us-west-2" in answer.fix


@pytest.mark.parametrize("state", ["pending", "failed", "invalid"])
def test_an_image_that_is_not_available_fails(state: str, tmp_path: Path, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeImages"] = image(State=state)
    (answer,) = launched_from(tmp_path, IMAGE, aws, ask)
    assert (answer.status, answer.message) == ("failed", f"{IMAGE} is {state}: nothing can be launched from it")
    assert answer.fix


def test_an_image_for_another_processor_fails(tmp_path: Path, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeImages"] = image(Architecture="arm64")
    (answer,) = launched_from(tmp_path, IMAGE, aws, ask)
    assert answer.status == "failed"
    assert answer.message == f"{IMAGE} is for arm64, but m6i.large is x86_64"


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        (
            {"parallelcluster:os": "alinux2023"},
            ("failed", "its tag parallelcluster:os says alinux2023, not ubuntu2204"),
        ),
        ({"parallelcluster:version": "3.15.1"}, ("failed", "its tag parallelcluster:version says 3.15.1, not 3.16.1")),
        ({}, ("passed", "is there")),
    ],
)
def test_an_image_of_ones_own_is_compared_with_the_cluster(
    tags: dict[str, str], said: tuple[str, str], aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    right = {"parallelcluster:os": "ubuntu2204", "parallelcluster:version": "3.16.1"}
    listed = [{"Key": key, "Value": value} for key, value in {**right, **tags}.items()]
    aws.replies["ec2.DescribeImages"] = {"Images": [{**image()["Images"][0], "Tags": listed}]}
    (answer,) = ask("PF12", with_an_image(needs_of("ultracluster")), aws)
    assert (answer.status, said[1] in answer.message) == (said[0], True)


def test_an_image_that_parallelcluster_did_not_build_warns(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    (answer,) = ask("PF12", with_an_image(needs_of("ultracluster")), aws)
    assert (answer.status, "parallelcluster:version" in answer.message) == ("warning", True)


@pytest.mark.parametrize(("size", "status"), [(500, "passed"), (501, "failed")])
def test_an_image_of_the_head_node_fits_on_its_root_volume(
    size: int, status: str, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    tags = [{"Key": "parallelcluster:os", "Value": "ubuntu2204"}, {"Key": "parallelcluster:version", "Value": "3.16.1"}]
    root = {
        "RootDeviceName": "/dev/sda1",
        "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": size}}],
    }
    aws.replies["ec2.DescribeImages"] = {"Images": [{**image()["Images"][0], **root, "Tags": tags}]}
    (answer,) = ask("PF12", with_an_image(needs_of("ultracluster")), aws)
    assert (answer.status, answer.subject) == (status, f"{IMAGE} for the head node")
    assert ("has a root volume of 501 GiB, the head node one of 500" in answer.message) == (status == "failed")


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (-5, ("warning", "is deprecated since")),
        (10, ("warning", "will be deprecated on")),
        (400, ("passed", "deprecated from")),
    ],
)
def test_the_deprecation_date_is_told(days: int, said: tuple[str, str], tmp_path: Path, aws: Aws, ask: Ask) -> None:
    assert aws.now is not None
    until = aws.now + timedelta(days=days)
    aws.replies["ec2.DescribeImages"] = image(DeprecationTime=f"{until:%Y-%m-%dT%H:%M:%S}.000Z")
    (answer,) = launched_from(tmp_path, IMAGE, aws, ask)
    assert answer.status == said[0]
    assert said[1] in answer.message
    assert f"{until:%Y-%m-%d}" in answer.message


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("2026-08-25", ("passed", "is there")),
        ("2026-08-24", ("warning", "is of 2026-08-24, 91 days old: what runs from it lacks the security updates")),
    ],
)
def test_an_old_image_warns(made: str, told: tuple[str, str], tmp_path: Path, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeImages"] = image(CreationDate=f"{made}T00:00:00.000Z")
    (answer,) = launched_from(tmp_path, IMAGE, aws, ask)
    assert (answer.status, told[1] in answer.message) == (told[0], True), answer.message
    assert ("`slipway docs updates#security-updates`" in (answer.fix or "")) == (told[0] == "warning")


def test_an_old_baked_image_warns(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    tags = {"parallelcluster:os": "ubuntu2204", "parallelcluster:version": "3.16.1"}
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    baked = {**image(CreationDate="2026-05-01T00:00:00.000Z")["Images"][0], "Tags": listed}
    aws.replies["ec2.DescribeImages"] = {"Images": [baked]}
    (answer,) = ask("PF12", with_an_image(needs_of("ultracluster")), aws)
    assert (answer.status, "206 days old" in answer.message) == ("warning", True)


def test_the_documents_name_the_age() -> None:
    text = Path("docs/updates.md").read_text(encoding="utf-8")
    assert f"older than {MAXIMUM_AGE.days} days" in text


def test_a_reference_is_no_name(tmp_path: Path, aws: Aws, ask: Ask) -> None:
    assert launched_from(tmp_path, {"Ref": "Image"}, aws, ask) == []
    assert not aws.calls
