"""/home on FSx for OpenZFS: a file system that outlives clusters and is backed up every day."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from constructs import Construct

from neuron_constructs.security_groups import without_default_egress
from slipway import facts

DEPLOYMENT_TYPE = "SINGLE_AZ_1"
"""The deployment type, a row of the facts; the row says why this one."""

_EXPORT_OPTIONS = ("rw", "crossmnt", "no_root_squash")
"""Root of the head node makes and owns the users' folders; a squashed root could not. The export names clients by
address, and the head node's is not known before there is a cluster, so all clients get the same."""


@dataclass(frozen=True, kw_only=True)
class OpenZfsHomeProps:
    """Properties of an `OpenZfsHome`."""

    vpc: ec2.IVpc
    """The VPC of the subnet."""

    subnet: ec2.ISubnet
    """Where the file server stands: the nodes' subnet."""

    client_cidr: str
    """IPv4 range of the export: it must cover head, login and compute nodes. Who of it reaches the file system, the
    client security group says."""

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
    client_security_group: ec2.SecurityGroup
    """Members of this group may mount the file system, and nobody else."""

    def __init__(self, scope: Construct, id: str, props: OpenZfsHomeProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.client_security_group = self._group(
            props.vpc, "ClientSecurityGroup", "FSx for OpenZFS: who may mount /home"
        )
        # Another description would replace the group, and that the file system.
        self.security_group = self._group(props.vpc, "SecurityGroup", "FSx for OpenZFS: NFS from the VPC only")
        # A retained file system keeps its group.
        self.security_group.apply_removal_policy(props.removal_policy)
        self._allow_clients()
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

    def _group(self, vpc: ec2.IVpc, id: str, description: str) -> ec2.SecurityGroup:  # noqa: A002
        group = ec2.SecurityGroup(self, id, vpc=vpc, description=description, allow_all_outbound=False)
        without_default_egress(group)
        return group

    def _allow_clients(self) -> None:
        """Let clients connect: NFS 4.2 answers, and calls back, over the connection that the client opened."""
        for first, last in facts.open_zfs_deployment(DEPLOYMENT_TYPE).ports:
            for port in (ec2.Port.tcp_range(first, last), ec2.Port.udp_range(first, last)):
                self.security_group.add_ingress_rule(self.client_security_group, port, "NFS from clients")
                self.client_security_group.add_egress_rule(self.security_group, port, "NFS to the file server")


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
