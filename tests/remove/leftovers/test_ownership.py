"""What a neighbour may have named like an environment's things is the neighbour's: its removal would be the worst."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from slipway.assembly.existing import ExistingResource
from slipway.aws.account import open_account
from slipway.remove.leftovers.environment import subject_of
from slipway.remove.leftovers.findings import Findings
from slipway.remove.leftovers.look import look
from slipway.remove.leftovers.ownership import Subject, subject_of_name
from slipway.remove.leftovers.report import lines
from slipway.remove.scope import read_scope
from tests.remove.leftovers.conftest import REGION, Only
from tests.remove.leftovers.plants import Garden
from tests.remove.leftovers.test_look import OWN, TOPIC
from tests.remove.teardown.fakes import CLUSTER, write_assembly

ENVIRONMENT = "tiny"

pytestmark = pytest.mark.usefixtures("account")


def found(subject: Subject | None = None) -> Findings:
    return look(subject or subject_of_name(ENVIRONMENT, REGION), open_account(REGION, None))


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    """The environment as its assembly tells it, with a Slurm cluster."""
    return subject_of(read_scope(write_assembly(tmp_path / "assembly")))


def test_what_the_environment_uses_and_does_not_own_is_no_leftover_whatever_its_tags(
    only: Only, tmp_path: Path
) -> None:
    only("S3 bucket", "KMS key")
    garden = Garden(ENVIRONMENT, REGION)
    bucket, key = garden.plants["S3 bucket"](), garden.plants["KMS key"]()
    existing = [
        ExistingResource("S3 bucket", bucket, "data"),
        ExistingResource("KMS key", f"arn:aws:kms:{REGION}:123456789012:key/{key}", "encryption"),
    ]

    before = found()
    left = found(subject_of(read_scope(write_assembly(tmp_path / "assembly", existing=existing))))

    assert {row.id for row in before.leftovers} == {bucket, key}
    assert (left.leftovers, left.tagged_only, left.commands) == ((), (), ())
    said = "\n".join(lines(left))
    assert f"Stays: not Slipway's:\n  S3 bucket {bucket} (data)\n  KMS key arn:" in said
    assert json.loads(left.model_dump_json())["existing"] == [str(row) for row in existing]


def test_a_clusters_name_is_no_proof_of_what_begins_with_it(only: Only, subject: Subject) -> None:
    only("S3 bucket", "IAM role", "IAM managed policy", "launch template", "Lambda function", "CloudWatch alarm")
    place: Any = {"LocationConstraint": REGION}
    boto3.client("s3").create_bucket(Bucket=f"{CLUSTER}-datasets", CreateBucketConfiguration=place)
    iam = boto3.client("iam")
    iam.create_role(RoleName=f"{CLUSTER}-2-RoleHeadNode-1", AssumeRolePolicyDocument="{}")
    data: Any = {"ImageId": "ami-1"}
    boto3.client("ec2").create_launch_template(LaunchTemplateName=f"{CLUSTER}-dev", LaunchTemplateData=data)

    left = found(subject)

    assert left.leftovers == ()
    assert left.commands == ()


@pytest.mark.parametrize("neighbour", [f"{ENVIRONMENT}-storage", f"{ENVIRONMENT}-storage-east-2"])
def test_an_environment_that_is_named_for_a_part_of_another_is_left_alone(only: Only, neighbour: str) -> None:
    kinds = ("IAM managed policy", "instance profile", "Lambda layer", "log group", "CloudWatch dashboard", "budget")
    only(*kinds)
    garden = Garden(neighbour, REGION)
    garden.name = f"slipway-{neighbour}-network-Thing1"
    for kind in kinds:
        garden.plants[kind]()

    assert found().leftovers == ()


def test_a_resource_whose_name_begins_like_a_part_is_found(only: Only) -> None:
    only("S3 bucket")
    place: Any = {"LocationConstraint": REGION}
    name = "slipway-tiny-storage-networkdata1-x"
    boto3.client("s3").create_bucket(Bucket=name, CreateBucketConfiguration=place)

    assert [left.id for left in found().leftovers] == [name]


def test_a_cluster_that_is_somebody_elses_now_keeps_its_things(only: Only, subject: Subject) -> None:
    only("CloudFormation stack", "EBS volume")
    boto3.client("cloudformation").create_stack(StackName=CLUSTER, TemplateBody=TOPIC)
    client = boto3.client("ec2")
    volume = client.create_volume(Size=1, AvailabilityZone=f"{REGION}a")["VolumeId"]
    client.create_tags(Resources=[volume], Tags=[{"Key": "parallelcluster:cluster-name", "Value": CLUSTER}])

    left = found(subject)

    assert (left.leftovers, left.standing, left.verdict) == ((), (), "unknown")
    assert [row.what for row in left.not_looked_at] == [f"what has only the tags of cluster {CLUSTER}"]


def test_a_subnet_that_a_cluster_may_only_use_is_not_its_own(only: Only) -> None:
    only("subnet", "EBS volume")
    client = boto3.client("ec2")
    volume = client.create_volume(Size=1, AvailabilityZone=f"{REGION}a")["VolumeId"]
    client.create_tags(Resources=[volume], Tags=[*OWN, {"Key": "eks:cluster-name", "Value": "trn"}])
    vpc = client.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    subnet = client.create_subnet(VpcId=vpc, CidrBlock="10.9.0.0/24")["Subnet"]["SubnetId"]
    client.create_tags(Resources=[subnet], Tags=[{"Key": "kubernetes.io/cluster/trn", "Value": "shared"}])

    left = found()

    assert [row.id for row in left.leftovers] == [volume]
    assert left.tagged_only == ()


def test_what_is_made_anew_by_the_last_words_of_a_service_is_found(only: Only) -> None:
    only("log group")
    names = {
        "/aws/ecs/containerinsights/slipway-tiny-inference/performance",
        "aws-waf-logs-slipway-tiny-inference",
    }
    for name in (*names, "/aws/ecs/containerinsights/slipway-tiny-inference-2/performance"):
        boto3.client("logs").create_log_group(logGroupName=name)

    assert {row.id for row in found().leftovers} == names


def test_what_may_be_the_environments_in_another_region_is_no_leftover(only: Only) -> None:
    only("IAM role", "S3 bucket", "CloudFormation stack")
    Garden(ENVIRONMENT, REGION).plants["IAM role"]()
    other = "eu-west-1"
    place: Any = {"LocationConstraint": other}
    s3 = boto3.client("s3", region_name=other)
    s3.create_bucket(Bucket="slipway-tiny-storage-data", CreateBucketConfiguration=place)
    alone = found()
    stacks = boto3.client("cloudformation", region_name=other)
    stacks.create_stack(StackName="slipway-tiny-operations", TemplateBody=TOPIC, Tags=OWN)

    beside = found()

    assert [left.kind for left in alone.leftovers] == ["IAM role"]
    assert (beside.leftovers, beside.commands, beside.verdict) == ((), (), "unknown")
    (doubt,) = beside.not_looked_at
    assert doubt.what == "whether IAM role slipway-tiny-storage-orphan is left"
    assert doubt.why.startswith(f"slipway-tiny-operations in {other} is deployed")


def test_a_region_that_does_not_tell_is_named(only: Only, monkeypatch: pytest.MonkeyPatch) -> None:
    only("IAM role")
    Garden(ENVIRONMENT, REGION).plants["IAM role"]()

    def refuse(_cloudformation: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "not for you"}}, "DescribeStacks")

    monkeypatch.setattr("slipway.remove.leftovers.other_regions.deployed_stacks", refuse)

    left = found()

    assert [row.kind for row in left.leftovers] == ["IAM role"]
    assert "stacks in eu-west-1" in [row.what for row in left.not_looked_at]
