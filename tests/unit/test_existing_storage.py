"""File systems, buckets and a key that are there already are used, named in the templates, and never part of them."""

import json
from typing import Any

import pytest

from slipway.assembly.existing import existing_in
from slipway.assembly.stacks import read_stacks
from slipway.config.storage import ExistingBuckets
from tests.assembly import Assembly, load, synthesize
from tests.conftest import AssemblyFactory

GROUPS = ["sg-0a1b2c3d4e5f60001", "sg-0a1b2c3d4e5f60002"]


@pytest.fixture(scope="module")
def existing(assemblies: AssemblyFactory) -> Assembly:
    """The environment that makes neither file systems nor, but for checkpoints, buckets."""
    return assemblies("existing")


def cluster(assembly: Assembly) -> Any:
    """The cluster's configuration."""
    return assembly.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]


def test_nodes_mount_what_is_there(existing: Assembly) -> None:
    mounted = {row["MountDir"]: row for row in cluster(existing)["SharedStorage"]}

    assert mounted["/fsx"]["FsxLustreSettings"] == {"FileSystemId": "fs-0a1b2c3d4e5f60001"}
    assert mounted["/home"]["FsxOpenZfsSettings"] == {"VolumeId": "fsvol-0a1b2c3d4e5f60001"}
    assert mounted["/datasets"]["EfsSettings"] == {"FileSystemId": "fs-0a1b2c3d4e5f60002", "EncryptionInTransit": True}


def test_nodes_are_members_of_the_groups_that_may_mount(existing: Assembly) -> None:
    configuration = cluster(existing)
    head = configuration["HeadNode"]["Networking"]["AdditionalSecurityGroups"]
    (queue,) = configuration["Scheduling"]["SlurmQueues"]

    # A group that two file systems share is named once.
    assert [group for group in head if isinstance(group, str)] == GROUPS
    assert queue["Networking"]["AdditionalSecurityGroups"] == GROUPS


def test_no_template_has_a_resource_of_what_is_there(existing: Assembly) -> None:
    templates = existing.templates().values()
    types = [resource["Type"] for template in templates for resource in template["Resources"].values()]
    associated = [type_ for type_ in types if type_.startswith("AWS::FSx")]
    policies = existing.resources("storage", "AWS::S3::BucketPolicy").values()

    assert associated == []
    assert "AWS::KMS::Key" not in types
    assert "example-existing" not in json.dumps([policy["Properties"]["Bucket"] for policy in policies])


def test_the_templates_say_what_is_there(existing: Assembly) -> None:
    assert sorted(map(str, existing_in(read_stacks(existing.directory)))) == [
        "EFS file system fs-0a1b2c3d4e5f60002 (/datasets)",
        "FSx for Lustre file system fs-0a1b2c3d4e5f60001 (/fsx)",
        "FSx for OpenZFS volume fsvol-0a1b2c3d4e5f60001 (/home)",
        "KMS key arn:aws:kms:us-west-2:123456789012:key/0a1b2c3d-1111-4000-8000-000000000001 (encryption)",
        "S3 bucket example-existing-data (data)",
        "S3 bucket example-existing-models (models)",
        "VPC vpc-0123456789abcdef0 (the network)",
        "machine image ami-0123456789abcdef0 (head node)",
        "machine image ami-0123456789abcdef0 (nodes of trn1)",
        "security group sg-0a1b2c3d4e5f60001 (clients of file systems)",
        "security group sg-0a1b2c3d4e5f60002 (clients of file systems)",
        "subnet subnet-0aaaaaaaaaaaaaaa1 (private, usw2-az1)",
        "subnet subnet-0aaaaaaaaaaaaaaa4 (private, usw2-az4)",
    ]


def test_jobs_reach_the_existing_buckets_as_they_would_their_own(existing: Assembly) -> None:
    policies = existing.resources("storage", "AWS::IAM::ManagedPolicy")
    (nodes,) = [policy for name, policy in policies.items() if name.startswith("NodePolicy")]
    statements = nodes["Properties"]["PolicyDocument"]["Statement"]
    of_data, of_models = (
        [row["Action"] for row in statements if f":s3:::example-existing-{use}/*" in json.dumps(row["Resource"])]
        for use in ("data", "models")
    )

    assert of_data == of_models == ["s3:GetObject"]


def test_slipways_file_system_puts_no_notification_on_an_existing_bucket(tmp_path: Any) -> None:
    environment = load("default")
    storage = environment.storage.model_copy(update={"existing_buckets": ExistingBuckets(data="example-data")})
    assembly = synthesize(environment.model_copy(update={"storage": storage}), tmp_path)
    (data,) = [
        resource["Properties"]
        for resource in assembly.resources("storage", "AWS::FSx::DataRepositoryAssociation").values()
        if resource["Properties"]["FileSystemPath"] == "/data"
    ]

    assert data["DataRepositoryPath"] == "s3://example-data"
    assert data["BatchImportMetaDataOnCreate"] is True
    assert data["S3"] == {"AutoExportPolicy": {"Events": ["NEW", "CHANGED"]}}


def test_alarms_watch_the_file_system_that_is_there_by_what_the_file_says_of_it(existing: Assembly) -> None:
    alarms = json.dumps(list(existing.resources("operations", "AWS::CloudWatch::Alarm").values()))

    assert '"fs-0a1b2c3d4e5f60001"' in alarms
    assert "fsvol-" not in alarms
