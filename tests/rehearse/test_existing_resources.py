"""What an environment uses and does not own is after `cdk destroy` what it was before `cdk deploy`."""

from pathlib import Path
from typing import Any

import boto3
import pytest

from slipway.rehearse import phases
from slipway.rehearse.isolation import only_variables
from slipway.rehearse.session import Session
from tests.assembly import environment_path
from tests.rehearse.sessions import EMPTY_ACCOUNT, emulated

GROUPS = ["sg-0a1b2c3d4e5f60001", "sg-0a1b2c3d4e5f60002"]
BUCKETS = ("example-existing-data", "example-existing-models")


def storage_of(session: Session) -> dict[str, Any]:
    """Everything that AWS says of what the environment names."""
    assert session.emulated is not None
    with only_variables(session.emulated.variables):
        ec2, efs, fsx, kms, s3 = (boto3.client(service) for service in ("ec2", "efs", "fsx", "kms", "s3"))
    key = "0a1b2c3d-1111-4000-8000-000000000001"
    return {
        "file systems": fsx.describe_file_systems()["FileSystems"],
        "volumes": fsx.describe_volumes()["Volumes"],
        # When its size was measured is no property of a file system.
        "EFS": [{**row, "SizeInBytes": None} for row in efs.describe_file_systems()["FileSystems"]],
        "mount targets": efs.describe_mount_targets(FileSystemId="fs-0a1b2c3d4e5f60002")["MountTargets"],
        "groups": ec2.describe_security_groups(GroupIds=GROUPS)["SecurityGroups"],
        "key": (
            kms.describe_key(KeyId=key)["KeyMetadata"],
            kms.get_key_policy(KeyId=key, PolicyName="default")["Policy"],
        ),
        "buckets": {
            name: [
                s3.get_bucket_versioning(Bucket=name).get("Status"),
                s3.get_bucket_notification_configuration(Bucket=name).get("EventBridgeConfiguration"),
                s3.get_bucket_acl(Bucket=name)["Grants"],
                [row["Key"] for row in s3.list_objects_v2(Bucket=name).get("Contents", ())],
            ]
            for name in BUCKETS
        },
    }


@pytest.mark.rehearsal
def test_a_rehearsal_with_kubernetes_leaves_an_existing_vpc_as_it_was(tmp_path: Path) -> None:
    """The last phase compares the VPC with what it was."""
    with emulated(environment_path("existingvpc"), tmp_path) as session:
        for phase in (phases.unprotect, phases.destroy, phases.find_leftovers):
            phase(session)

        assert session.existing_vpc["Subnets"]


@pytest.mark.rehearsal
def test_a_deployment_and_its_destruction_change_nothing_of_the_storage(tmp_path: Path) -> None:
    with emulated(environment_path("existing"), tmp_path, EMPTY_ACCOUNT) as session:
        before = storage_of(session)
        for phase in (phases.bootstrap, phases.deploy):
            phase(session)
        deployed = storage_of(session)
        for phase in (phases.unprotect, phases.destroy, phases.find_leftovers):
            phase(session)
        after = storage_of(session)

    assert len(before["file systems"]) == 2
    assert deployed == before
    assert after == before
