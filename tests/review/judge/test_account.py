"""Resources stand in moto as the templates describe them, not as an ideal would have them."""

from collections.abc import Iterator
from typing import Any

import boto3
import moto.fsx.models
import pytest
from moto import mock_aws

from slipway.review.judge.inside_parallelcluster import file_systems
from slipway.review.judge.inside_parallelcluster.account import Account
from slipway.review.judge.inside_parallelcluster.references import Stack

REGION = "us-west-2"
VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}


@pytest.fixture(autouse=True)
def account_in_moto(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setattr(moto.fsx.models, "FileSystem", moto.fsx.models.FileSystem)
    file_systems.bridge()
    with mock_aws():
        yield


def account_of(resources: dict[str, Any], uploads: dict[str, list[str]] | None = None) -> tuple[Account, Stack]:
    stack = Stack("stack", REGION, {"Resources": resources})
    return Account([stack], uploads or {}), stack


def test_subnet_stands_in_its_zone_and_gives_public_addresses_only_when_told() -> None:
    account, stack = account_of(
        {
            "Subnet": {
                "Type": "AWS::EC2::Subnet",
                "Properties": {
                    "VpcId": {"Ref": "Vpc"},
                    "CidrBlock": "10.0.16.0/20",
                    "AvailabilityZoneId": "usw2-az4",
                },
            },
            "Vpc": VPC,
        }
    )
    assert account.make_all() == []
    subnet_id = account.references.resolve({"Ref": "Subnet"}, stack)
    subnet = boto3.client("ec2", region_name=REGION).describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]
    assert subnet["AvailabilityZoneId"] == "usw2-az4"
    assert subnet["CidrBlock"] == "10.0.16.0/20"
    assert subnet["MapPublicIpOnLaunch"] is False


def test_security_group_has_exactly_the_rules_of_the_template() -> None:
    lustre = {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988}
    account, stack = account_of(
        {
            "Vpc": VPC,
            "Group": {
                "Type": "AWS::EC2::SecurityGroup",
                "Properties": {
                    "GroupDescription": "Lustre",
                    "VpcId": {"Ref": "Vpc"},
                    "SecurityGroupIngress": [{**lustre, "CidrIp": "10.0.0.0/16", "Description": "clients"}],
                    "SecurityGroupEgress": [{**lustre, "CidrIp": "10.0.0.0/16"}],
                },
            },
            "FromItself": {
                "Type": "AWS::EC2::SecurityGroupIngress",
                "Properties": {
                    "GroupId": {"Fn::GetAtt": ["Group", "GroupId"]},
                    "SourceSecurityGroupId": {"Fn::GetAtt": ["Group", "GroupId"]},
                    "IpProtocol": "tcp",
                    "FromPort": 1018,
                    "ToPort": 1023,
                },
            },
        }
    )
    assert account.make_all() == []
    group_id = account.references.resolve({"Ref": "Group"}, stack)
    group = boto3.client("ec2", region_name=REGION).describe_security_groups(GroupIds=[group_id])["SecurityGroups"][0]
    ingress = {
        rule["FromPort"]: ([r["CidrIp"] for r in rule["IpRanges"]], [p["GroupId"] for p in rule["UserIdGroupPairs"]])
        for rule in group["IpPermissions"]
    }
    assert ingress == {988: (["10.0.0.0/16"], []), 1018: ([], [group_id])}
    assert [(rule["IpProtocol"], rule["FromPort"]) for rule in group["IpPermissionsEgress"]] == [("tcp", 988)]


def test_a_file_system_for_home_has_a_root_volume_that_is_described() -> None:
    configuration = {
        "DeploymentType": "SINGLE_AZ_1",
        "ThroughputCapacity": 64,
        # CloudFormation's own: no API call takes it when the file system is made.
        "Options": ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"],
    }
    account, stack = account_of(
        {
            "Vpc": VPC,
            "Subnet": {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.0.0/24"}},
            "Home": {
                "Type": "AWS::FSx::FileSystem",
                "Properties": {
                    "FileSystemType": "OPENZFS",
                    "StorageCapacity": 64,
                    "SubnetIds": [{"Ref": "Subnet"}],
                    "OpenZFSConfiguration": configuration,
                },
            },
        }
    )
    assert account.make_all() == []
    volume_id = account.references.resolve({"Fn::GetAtt": ["Home", "RootVolumeId"]}, stack)
    (volume,) = boto3.client("fsx", region_name=REGION).describe_volumes(VolumeIds=[volume_id])["Volumes"]
    assert volume["OpenZFSConfiguration"]["VolumePath"] == "/fsx"


def test_a_database_and_its_password_are_there_to_be_referred_to() -> None:
    account, stack = account_of(
        {
            "Password": {"Type": "AWS::SecretsManager::Secret", "Properties": {"GenerateSecretString": {}}},
            "Database": {
                "Type": "AWS::RDS::DBInstance",
                "Properties": {
                    "DBInstanceClass": "db.t4g.micro",
                    "Engine": "mysql",
                    "MasterUsername": "slurm",
                    "MasterUserPassword": "{{resolve:secretsmanager:password:SecretString:::}}",
                },
            },
        }
    )
    assert account.make_all() == []
    assert account.references.resolve({"Fn::GetAtt": ["Database", "Endpoint.Port"]}, stack) == "3306"
    assert ":secret:" in account.references.resolve({"Ref": "Password"}, stack)


def test_bucket_deployment_puts_the_files_of_its_assets_under_its_prefix() -> None:
    account, stack = account_of(
        {
            "Copy": {
                "Type": "Custom::CDKBucketDeployment",
                "Properties": {
                    "DestinationBucketName": {"Ref": "Scripts"},
                    "DestinationBucketKeyPrefix": "cluster/",
                    "SourceObjectKeys": ["one.zip", "two.zip"],
                },
            },
            "Scripts": {"Type": "AWS::S3::Bucket", "Properties": {}},
        },
        uploads={"one.zip": ["head_node.sh", "steps/first.sh"], "two.zip": ["versions.sh"], "other.zip": ["index.py"]},
    )
    assert account.make_all() == []
    bucket = account.references.resolve({"Ref": "Scripts"}, stack)
    objects = boto3.client("s3", region_name=REGION).list_objects_v2(Bucket=bucket)["Contents"]
    assert {item["Key"] for item in objects} == {
        "cluster/head_node.sh",
        "cluster/steps/first.sh",
        "cluster/versions.sh",
    }


def test_properties_that_nobody_reads_need_no_resource() -> None:
    encrypted = {"Type": "AWS::S3::Bucket", "Properties": {"BucketEncryption": {"Key": {"Ref": "Key"}}}}
    account, _ = account_of({"Data": encrypted, "Key": {"Type": "AWS::KMS::Key"}})
    assert account.make_all() == []


@pytest.mark.parametrize(
    ("bucket", "message"),
    [
        # No maker can be added for a type that CloudFormation itself does not have.
        ({"Type": "AWS::None::Such"}, "stack: Bucket is a AWS::None::Such, which the judge cannot make in moto"),
        ({"Type": "AWS::EC2::Subnet", "Properties": {}}, "stack: Bucket (AWS::EC2::Subnet) cannot be made in moto"),
        ({"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": {"Ref": "Bucket"}}}, "refers to itself"),
    ],
)
def test_a_reference_to_what_cannot_be_made_is_a_problem(bucket: dict[str, Any], message: str) -> None:
    copy = {"DestinationBucketName": {"Ref": "Bucket"}, "SourceObjectKeys": []}
    account, _ = account_of({"Copy": {"Type": "Custom::CDKBucketDeployment", "Properties": copy}, "Bucket": bucket})
    problems = account.make_all()
    assert problems
    assert message in problems[0]


def test_a_policy_may_name_a_kubernetes_cluster() -> None:
    statement = {"Effect": "Allow", "Action": "eks:DescribeCluster", "Resource": {"Fn::GetAtt": ["Cluster", "Arn"]}}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    account, stack = account_of(
        {
            "Policy": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document}},
            "Cluster": {"Type": "AWS::EKS::Cluster", "Properties": {"Name": "trainium"}},
        }
    )
    assert account.make_all() == []
    assert account.references.resolve({"Ref": "Cluster"}, stack) == "trainium"
    policies = boto3.client("iam", region_name=REGION).list_policies(Scope="Local")["Policies"]
    assert [policy["PolicyName"] for policy in policies] == ["stack-Policy"]
