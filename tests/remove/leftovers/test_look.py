"""What is a leftover, what is not, and what nobody can tell."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from botocore.stub import Stubber
from moto.ec2.models import ec2_backends
from typer.testing import CliRunner

from slipway.aws.account import open_account
from slipway.cli import app
from slipway.remove.leftovers.findings import Findings
from slipway.remove.leftovers.look import look
from slipway.remove.leftovers.ownership import Subject, subject_of_name
from slipway.remove.leftovers.report import lines
from tests.remove.leftovers.conftest import REGION, Only
from tests.remove.leftovers.plants import Garden
from tests.remove.teardown.fakes import write_assembly

ENVIRONMENT = "tiny"
OWN = [{"Key": "slipway:environment", "Value": ENVIRONMENT}]
TOPIC = json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})

pytestmark = pytest.mark.usefixtures("account")


def found(subject: Subject | None = None) -> Findings:
    return look(subject or subject_of_name(ENVIRONMENT, REGION), open_account(REGION, None))


def test_cost_is_a_sum_of_what_is_known_and_says_what_is_not(only: Only) -> None:
    only("EBS volume", "S3 bucket", "KMS key", "log group")
    garden = Garden(ENVIRONMENT, REGION)
    for kind in ("EBS volume", "S3 bucket", "KMS key", "log group"):
        garden.plants[kind]()

    left = found()

    assert {row.kind: row.usd_per_month for row in left.leftovers} == {
        "EBS volume": 8.0,
        "KMS key": 1.0,
        "log group": 0.0,
        "S3 bucket": None,
    }
    assert (left.usd_per_month, left.unpriced) == (9.0, 1)
    assert {row.kind for row in left.leftovers if row.holds_data} == {"EBS volume", "KMS key", "S3 bucket"}
    said = "\n".join(lines(left))
    assert said.index("HOLDS DATA") < said.index("What removes it, from top to bottom")
    assert list(lines(left))[-1].endswith("$9.00 a month at list prices, and 1 whose cost is not known")


def test_a_gp3_volume_that_is_faster_than_usual_costs_more(only: Only) -> None:
    only("EBS volume")
    client = boto3.client("ec2")
    volume = client.create_volume(Size=100, VolumeType="gp3", Iops=6000, Throughput=250, AvailabilityZone=f"{REGION}a")
    client.create_tags(Resources=[volume["VolumeId"]], Tags=OWN)

    (left,) = found().leftovers

    assert left.usd_per_month == pytest.approx(100 * 0.08 + 3000 * 0.005 + 125 * 0.04)


@pytest.mark.parametrize(("type_", "region"), [("io2", REGION), ("gp3", "eu-north-1")])
def test_what_has_no_price_is_not_free(only: Only, type_: str, region: str) -> None:
    only("EBS volume")
    client = boto3.client("ec2", region_name=region)
    volume = client.create_volume(Size=9, VolumeType=type_, Iops=100, AvailabilityZone=f"{region}a")["VolumeId"]
    client.create_tags(Resources=[volume], Tags=OWN)

    (left,) = look(subject_of_name(ENVIRONMENT, region), open_account(region, None)).leftovers

    assert left.usd_per_month is None
    assert left.cost.startswith("cost not known: Slipway has no price")


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": "not for you"}}, "DescribeVolumes"),
        ResponseParserError("a proxy's page"),
    ],
)
def test_what_was_not_listed_is_not_clean(only: Only, error: Exception) -> None:
    only("EBS volume", "VPC")

    def refuse(**_: Any) -> None:
        raise error

    account = open_account(REGION, None)
    account.client("ec2").meta.events.register("before-call.ec2.DescribeVolumes", refuse)

    left = look(subject_of_name(ENVIRONMENT, REGION), account)

    assert [row.what for row in left.not_looked_at] == ["EBS volume"]
    assert left.verdict == "unknown"
    assert "among what could be looked at" in list(lines(left))[-1]


@pytest.mark.parametrize(
    ("kind", "service", "operation", "answer", "usd", "command"),
    [
        (
            "capacity reservation",
            "ec2",
            "describe_capacity_reservations",
            {
                "CapacityReservations": [
                    {
                        "CapacityReservationId": "cr-1",
                        "InstanceType": "m6i.large",
                        "TotalInstanceCount": 3,
                        "AvailableInstanceCount": 2,
                        "State": "active",
                        "Tags": OWN,
                    },
                    {"CapacityReservationId": "cr-2", "State": "cancelled", "Tags": OWN},
                    {"CapacityReservationId": "cr-3", "State": "active", "ReservationType": "capacity-block"},
                ]
            },
            140.16,
            "aws ec2 cancel-capacity-reservation --capacity-reservation-id cr-1 --region us-west-2",
        ),
        (
            "placement group",
            "ec2",
            "describe_placement_groups",
            {"PlacementGroups": [{"GroupName": "slipway-tiny-training-nodes", "State": "available"}]},
            0.0,
            "aws ec2 delete-placement-group --group-name slipway-tiny-training-nodes --region us-west-2",
        ),
        (
            "CloudWatch alarm",
            "cloudwatch",
            "describe_alarms",
            {
                "MetricAlarms": [],
                "CompositeAlarms": [{"AlarmName": "slipway-tiny-operations-All", "AlarmRule": "FALSE"}],
            },
            0.5,
            "aws cloudwatch delete-alarms --alarm-names slipway-tiny-operations-All --region us-west-2",
        ),
    ],
)
def test_what_moto_does_not_list(
    *, only: Only, kind: str, service: str, operation: str, answer: Any, usd: float, command: str
) -> None:
    only(kind)
    account = open_account(REGION, None)
    with Stubber(account.client(service)) as stubber:
        stubber.add_response(operation, answer)
        left = look(subject_of_name(ENVIRONMENT, REGION), account)

    (row,) = left.leftovers
    assert row.kind == kind
    assert row.usd_per_month == pytest.approx(usd)
    assert left.commands == (command,)


def test_while_the_environment_stands_only_what_it_does_not_own_is_listed(only: Only) -> None:
    only("CloudFormation stack", "SNS topic", "log group", "EBS volume")
    boto3.client("cloudformation").create_stack(StackName="slipway-tiny-operations", TemplateBody=TOPIC, Tags=OWN)
    boto3.client("logs").create_log_group(logGroupName="/aws/lambda/slipway-tiny-operations-pause")
    boto3.client("logs").create_log_group(logGroupName="/aws/lambda/slipway-tiny-training-old")
    volume = Garden(ENVIRONMENT, REGION).plants["EBS volume"]()

    left = found()

    assert left.standing == ("slipway-tiny-operations",)
    assert {row.id for row in left.leftovers} == {"/aws/lambda/slipway-tiny-training-old", volume}
    assert next(iter(lines(left))).startswith("environment tiny in account 123456789012, us-west-2 is deployed")


def test_what_an_earlier_stack_of_the_same_name_kept_is_left(only: Only) -> None:
    only("CloudFormation stack", "EBS volume")
    name = "slipway-tiny-operations"
    stack = boto3.client("cloudformation").create_stack(StackName=name, TemplateBody=TOPIC, Tags=OWN)["StackId"]
    client = boto3.client("ec2")
    old, new = (client.create_volume(Size=1, AvailabilityZone=f"{REGION}a")["VolumeId"] for _ in range(2))
    for volume, id_ in ((old, f"{stack}-earlier"), (new, stack)):
        tags = {"aws:cloudformation:stack-name": name, "aws:cloudformation:stack-id": id_}
        ec2_backends["123456789012"][REGION].create_tags([volume], tags | {"slipway:environment": ENVIRONMENT})

    left = found()

    assert left.standing == (name,)
    assert [row.id for row in left.leftovers] == [old]


@pytest.mark.parametrize("stands", [True, False])
def test_what_others_put_into_a_vpc_that_stands_is_theirs(*, only: Only, stands: bool) -> None:
    only("CloudFormation stack", "VPC", "EC2 instance")
    vpc = json.dumps({"Resources": {"Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.9.0.0/16"}}}})
    stack = "slipway-tiny-network" if stands else "somebody-elses"
    boto3.client("cloudformation").create_stack(StackName=stack, TemplateBody=vpc, Tags=OWN if stands else [])
    client = boto3.client("ec2")
    (network,) = client.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["false"]}])["Vpcs"]
    client.create_tags(Resources=[network["VpcId"]], Tags=OWN)
    subnet = client.create_subnet(VpcId=network["VpcId"], CidrBlock="10.9.0.0/24")["Subnet"]["SubnetId"]
    started = client.run_instances(ImageId="ami-12c6146b", MinCount=1, MaxCount=1, SubnetId=subnet)
    (instance,) = started["Instances"]

    assert ([row.id for row in found().leftovers if row.id == instance["InstanceId"]] == []) == stands


def test_what_a_template_keeps_is_documented(only: Only) -> None:
    only("FSx file system")
    stack, logical_id = "slipway-tiny-storage", "LustreFileSystem"
    kept = {"aws:cloudformation:stack-name": stack, "aws:cloudformation:logical-id": logical_id}
    boto3.client("fsx").create_file_system(
        FileSystemType="LUSTRE",
        StorageCapacity=1200,
        SubnetIds=["subnet-12345678"],
        Tags=[{"Key": key, "Value": value} for key, value in {**kept, "slipway:environment": ENVIRONMENT}.items()],
    )
    subject = Subject(ENVIRONMENT, REGION, (stack,), kept={(stack, logical_id): "AWS::FSx::FileSystem"})

    (left,) = found(subject).leftovers

    assert left.reason == "Data of a persistent environment: the file system."


def test_what_parallelcluster_shares_is_no_environments(only: Only) -> None:
    only("S3 bucket", "log group")
    name = "parallelcluster-0a1b2c3d4e5f6789-v1-do-not-delete"
    place: Any = {"LocationConstraint": REGION}
    boto3.client("s3").create_bucket(Bucket=name, CreateBucketConfiguration=place)

    left = found()

    assert [row.id for row in left.shared] == [name]
    assert left.verdict == "clean"


def test_the_tags_of_a_clusters_things_are_enough(only: Only) -> None:
    only("EBS volume", "log group")
    client = boto3.client("ec2")
    both = [*OWN, {"Key": "parallelcluster:cluster-name", "Value": "trainium-tiny"}]
    for tags in (both, both[1:], [{"Key": "kubernetes.io/cluster/trainium-tiny", "Value": "owned"}]):
        volume = client.create_volume(Size=1, AvailabilityZone=f"{REGION}a")["VolumeId"]
        client.create_tags(Resources=[volume], Tags=tags)
    boto3.client("logs").create_log_group(logGroupName="/aws/parallelcluster/trainium-tiny-202611220900")

    assert len(found().leftovers) == 4


def test_what_a_similar_name_has_is_somebody_elses(only: Only) -> None:
    only("IAM role", "launch template", "log group", "SNS topic", "CloudWatch dashboard")
    iam, ec2, sns = boto3.client("iam"), boto3.client("ec2"), boto3.client("sns")
    iam.create_role(RoleName="trn-payroll", AssumeRolePolicyDocument="{}")
    iam.create_role(RoleName="trn-RoleHeadNode-1", Path="/parallelcluster/trn/", AssumeRolePolicyDocument="{}")
    tags: Any = [{"Key": "parallelcluster:cluster-name", "Value": "trn-2"}]
    ec2.create_launch_template(
        LaunchTemplateName="trn-2-q",
        LaunchTemplateData={"ImageId": "ami-1"},
        TagSpecifications=[{"ResourceType": "launch-template", "Tags": tags}],
    )
    boto3.client("logs").create_log_group(logGroupName="/aws/parallelcluster/trn-2-202611220900")
    sns.create_topic(Name="slipway-tiny-network-operations-1", Tags=[{**OWN[0], "Value": "tiny-network"}])
    boto3.client("cloudwatch").put_dashboard(DashboardName="trn-2-us-west-2", DashboardBody='{"widgets": []}')

    left = found(Subject(ENVIRONMENT, REGION, ("slipway-tiny-network",), ("trn",)))

    assert [row.id for row in left.leftovers] == ["trn-RoleHeadNode-1"]
    assert left.tagged_only == ()


def test_what_only_the_tag_index_knows_is_named(only: Only) -> None:
    only("VPC")
    queue = boto3.client("sqs").create_queue(QueueName="q", tags={"slipway:environment": ENVIRONMENT})["QueueUrl"]

    left = found()

    assert left.tagged_only == (f"arn:aws:sqs:{REGION}:123456789012:{queue.rpartition('/')[2]}",)
    assert left.verdict == "found"


def test_names_of_others_are_quoted_for_the_shell(only: Only) -> None:
    only("key pair")
    client = boto3.client("ec2")
    key = client.create_key_pair(KeyName="x; rm -rf ~")["KeyPairId"]
    client.create_tags(Resources=[key], Tags=OWN)

    assert found().commands == ("aws ec2 delete-key-pair --key-name 'x; rm -rf ~' --region us-west-2",)


def test_the_command_takes_a_name_or_an_assembly(only: Only, tmp_path: Path) -> None:
    only("EBS volume")
    volume = Garden(ENVIRONMENT, REGION).plants["EBS volume"]()
    assembly = write_assembly(tmp_path / "assembly")

    by_name = CliRunner().invoke(app, ["leftovers", "--name", ENVIRONMENT, "--region", REGION])
    by_assembly = CliRunner().invoke(app, ["leftovers", "--assembly", str(assembly)])
    as_json = CliRunner().invoke(app, ["leftovers", "--name", ENVIRONMENT, "--region", REGION, "--json"])
    boto3.client("ec2").delete_volume(VolumeId=volume)
    clean = CliRunner().invoke(app, ["leftovers", "--name", ENVIRONMENT, "--region", REGION])

    assert (by_name.exit_code, by_assembly.exit_code, as_json.exit_code, clean.exit_code) == (1, 1, 1, 0)
    assert by_name.output == by_assembly.output
    assert f"aws ec2 delete-volume --volume-id {volume} --region {REGION}" in by_name.output
    assert Findings.model_validate_json(as_json.output).commands[0] in by_name.output
    assert clean.output == "nothing is left of environment tiny in account 123456789012, us-west-2\n"


@pytest.mark.parametrize(
    "options", [[], ["--name", "tiny"], ["--region", REGION], ["--name", "tiny", "--region", REGION, "-e", "small"]]
)
def test_one_environment_must_be_named(options: list[str]) -> None:
    result = CliRunner().invoke(app, ["leftovers", *options])

    assert result.exit_code == 2
    assert "say whose" in result.output
