"""/home on FSx for OpenZFS: a file system that outlives clusters and is backed up every day."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from constructs import Construct

from slipway import facts

DEPLOYMENT_TYPE = "SINGLE_AZ_1"
"""The deployment type, a row of the facts; the row says why this one."""

_EXPORT_OPTIONS = ("rw", "crossmnt", "no_root_squash")
"""Root of a node makes and owns the users' folders; a squashed root could not."""


@dataclass(frozen=True, kw_only=True)
class OpenZfsHomeProps:
    """Properties of an `OpenZfsHome`."""

    vpc: ec2.IVpc
    """The VPC of the subnet."""

    subnet: ec2.ISubnet
    """Where the file server stands: the nodes' subnet."""

    client_cidr: str
    """IPv4 range that may mount the file system: it must cover head, login and compute nodes."""

    capacity_gib: int
    """SSD storage capacity in GiB."""

    throughput_mb_s: int
    """Throughput capacity in MB/s."""

    backup_retention_days: int
    """Days that an automatic daily backup is kept; 0 makes none."""

    removal_policy: cdk.RemovalPolicy
    """`DESTROY` deletes the file system with the stack, and AWS leaves a last backup of it; `RETAIN` keeps file system
    and security group."""


class OpenZfsHome(Construct):
    """An SSD file system, LZ4-compressed, encrypted, whose root volume the nodes mount over NFS 4.2.

    Like FSx for Lustre it depends on the subnet and its security group alone.
    """

    file_system: fsx.CfnFileSystem
    security_group: ec2.SecurityGroup

    def __init__(self, scope: Construct, id: str, props: OpenZfsHomeProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.security_group = self._security_group(props)
        # L1: the CDK has no L2 for OpenZFS.
        self.file_system = fsx.CfnFileSystem(
            self,
            "FileSystem",
            file_system_type="OPENZFS",
            storage_type="SSD",
            storage_capacity=props.capacity_gib,
            subnet_ids=[props.subnet.subnet_id],
            security_group_ids=[self.security_group.security_group_id],
            open_zfs_configuration=_configuration(props),
        )
        self.file_system.apply_removal_policy(props.removal_policy)

    @property
    def root_volume_id(self) -> str:
        """Id of the volume that ParallelCluster mounts."""
        return self.file_system.attr_root_volume_id

    @property
    def file_system_id(self) -> str:
        """Id of the file system, for alarms."""
        return self.file_system.ref

    def _security_group(self, props: OpenZfsHomeProps) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=props.vpc,
            description="FSx for OpenZFS: NFS from the VPC only",
            # NFS 4.2 answers, and calls back, over the connection that the client opened.
            allow_all_outbound=False,
        )
        # A retained file system is unreachable without its group.
        group.apply_removal_policy(props.removal_policy)
        clients = ec2.Peer.ipv4(props.client_cidr)
        for first, last in facts.open_zfs_deployment(DEPLOYMENT_TYPE).ports:
            group.add_ingress_rule(clients, ec2.Port.tcp_range(first, last), "NFS from clients")
            group.add_ingress_rule(clients, ec2.Port.udp_range(first, last), "NFS from clients")
        return group


def _configuration(props: OpenZfsHomeProps) -> fsx.CfnFileSystem.OpenZFSConfigurationProperty:
    clients = fsx.CfnFileSystem.ClientConfigurationsProperty(clients=props.client_cidr, options=list(_EXPORT_OPTIONS))
    destroyed = props.removal_policy == cdk.RemovalPolicy.DESTROY
    return fsx.CfnFileSystem.OpenZFSConfigurationProperty(
        deployment_type=DEPLOYMENT_TYPE,
        throughput_capacity=props.throughput_mb_s,
        automatic_backup_retention_days=props.backup_retention_days,
        # The tags say whose the last backup is, which stays when the file system goes.
        copy_tags_to_backups=True,
        copy_tags_to_volumes=True,
        root_volume_configuration=fsx.CfnFileSystem.RootVolumeConfigurationProperty(
            data_compression_type="LZ4",
            nfs_exports=[fsx.CfnFileSystem.NfsExportsProperty(client_configurations=[clients])],
        ),
        # Without it a snapshot that somebody made would keep the file system, and so the stack, from being deleted.
        options=["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"] if destroyed else None,
    )
