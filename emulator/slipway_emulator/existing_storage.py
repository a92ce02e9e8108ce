"""Storage that is there before the first deployment, in the made-up account that judge and rehearsal work in.

It is as it must be: file systems that let the members of their clients' groups in, buckets, a key that may be used.
Whether it is on AWS, `slipway preflight` asks.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from moto.ec2.models import ec2_backends
from moto.efs.models import efs_backends
from moto.fsx.models import fsx_backends
from moto.kms.models import kms_backends

from slipway_emulator.settings import ACCOUNT

Client = Callable[[str], Any]
"""Makes a boto3 client of a service."""

_ANY_TRAFFIC = "-1"

KEY_STATEMENTS: Sequence[Mapping[str, Any]] = (
    {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "kms:*", "Resource": "*"},
    {
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": [
            "kms:CreateGrant",
            "kms:Decrypt",
            "kms:DescribeKey",
            "kms:Encrypt",
            "kms:GenerateDataKey*",
            "kms:ReEncrypt*",
        ],
        "Resource": "*",
        "Condition": {
            "StringEquals": {"kms:CallerAccount": ACCOUNT},
            "ArnLike": {
                "aws:PrincipalArn": [
                    f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling",
                    f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/"
                    "AWSServiceRoleForFSxS3Access*",
                    f"arn:aws:iam::{ACCOUNT}:role/parallelcluster/*",
                    f"arn:aws:iam::{ACCOUNT}:role/slipway-*",
                ]
            },
        },
    },
)
"""What docs/existing-resources.md asks of a key's policy for roles."""


class Neighbourhood:
    """The network that file systems stand in, with a group of their servers."""

    def __init__(self, client: Client, region: str, subnet_id: str) -> None:
        """Find the network.

        Args:
            client: makes a client of a service in the Region.
            region: AWS Region.
            subnet_id: where file systems stand.
        """
        self.client, self.region, self.subnet_id = client, region, subnet_id
        self.ec2 = client("ec2")
        self.vpc_id: str = self.ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]["VpcId"]
        self.servers = self._group("servers")

    def client_group(self, id_: str) -> None:
        """Make a group whose members the file servers let in."""
        made = self._group(id_)
        groups = ec2_backends[ACCOUNT][self.region].groups[self.vpc_id]
        group = groups.pop(made)
        group.id = group.group_id = id_
        groups[id_] = group
        for one, other in ((self.servers, id_), (id_, self.servers)):
            pairs = [{"GroupId": other}]
            self.ec2.authorize_security_group_ingress(
                GroupId=one, IpPermissions=[{"IpProtocol": _ANY_TRAFFIC, "UserIdGroupPairs": pairs}]
            )

    def lustre(self, id_: str) -> None:
        """Make a file system of FSx for Lustre."""
        self._file_system("LUSTRE", LustreConfiguration={"DeploymentType": "PERSISTENT_2"}).rename(id_)

    def _file_system(self, kind: str, **configuration: Any) -> "_FileSystem":
        made = self.client("fsx").create_file_system(
            FileSystemType=kind,
            StorageCapacity=1200,
            SubnetIds=[self.subnet_id],
            SecurityGroupIds=[self.servers],
            **configuration,
        )["FileSystem"]["FileSystemId"]
        return _FileSystem(fsx_backends[ACCOUNT][self.region].file_systems, made)

    def open_zfs(self, volume_id: str) -> None:
        """Make a file system of FSx for OpenZFS whose root volume has an id."""
        made = self._file_system(
            "OPENZFS", OpenZFSConfiguration={"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 64}
        )
        made.model.open_zfs_configuration["RootVolumeId"] = volume_id

    def efs(self, id_: str) -> None:
        """Make a file system of EFS with a mount target in the head node's subnet."""
        client = self.client("efs")
        made = client.create_file_system(CreationToken=id_, Encrypted=True)["FileSystemId"]
        by_id = efs_backends[ACCOUNT][self.region].file_systems_by_id
        model = by_id.pop(made)
        model.file_system_id, model.file_system_arn = id_, model.file_system_arn.replace(made, id_)
        by_id[id_] = model
        client.create_mount_target(FileSystemId=id_, SubnetId=self.subnet_id, SecurityGroups=[self.servers])

    def bucket(self, name: str) -> None:
        """Make a bucket."""
        location = {} if self.region == "us-east-1" else {"LocationConstraint": self.region}
        self.client("s3").create_bucket(Bucket=name, **({"CreateBucketConfiguration": location} if location else {}))

    def key(self, arn: str) -> None:
        """Make a key with the statements for roles of docs/existing-resources.md in its policy."""
        policy = json.dumps({"Version": "2012-10-17", "Statement": KEY_STATEMENTS})
        made = self.client("kms").create_key(Policy=policy)["KeyMetadata"]["KeyId"]
        keys = kms_backends[ACCOUNT][self.region].keys
        model = keys.pop(made)
        model.id, model.arn = arn.rpartition("/")[2], arn
        keys[model.id] = model

    def _group(self, name: str) -> str:
        group_id: str = self.ec2.create_security_group(GroupName=name, Description=name, VpcId=self.vpc_id)["GroupId"]
        return group_id


class _FileSystem:
    """A file system in moto's store."""

    def __init__(self, store: dict[str, Any], id_: str) -> None:
        self._store, self.model = store, store[id_]

    def rename(self, id_: str) -> None:
        """Give it another id."""
        old = self.model.file_system_id
        self.model.file_system_id, self.model.dns_name = id_, self.model.dns_name.replace(old, id_)
        self._store[id_] = self._store.pop(old)


_MAKERS: Mapping[str, Callable[[Neighbourhood, str], None]] = {
    "EFS file system": Neighbourhood.efs,
    "FSx for Lustre file system": Neighbourhood.lustre,
    "FSx for OpenZFS volume": Neighbourhood.open_zfs,
    "KMS key": Neighbourhood.key,
    "S3 bucket": Neighbourhood.bucket,
    "security group": Neighbourhood.client_group,
}
"""How each kind is made."""


def make_storage(
    existing: Iterable[Mapping[str, Any]], client: Client, region: str, subnet_id: str
) -> list[Mapping[str, Any]]:
    """Make file systems, buckets, keys and groups in moto, with the ids that the environment file names.

    Args:
        existing: kind and id of each, as `slipway.assembly.existing.ExistingResource` has them.
        client: makes a client of a service in the Region.
        region: AWS Region.
        subnet_id: the training zone's subnet, for file systems.

    Returns:
        What was made; `existing_network` makes VPC and subnets.
    """
    rows = [row for row in existing if row["kind"] in _MAKERS]
    if rows:
        around = Neighbourhood(client, region, subnet_id)
        for row in rows:
            _MAKERS[row["kind"]](around, row["id"])
    return rows
