"""FSx for Lustre with its security group and its data repository associations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.security_groups import without_default_egress
from slipway import facts


@dataclass(frozen=True, kw_only=True)
class LustreMount:
    """What a client needs to mount a file system."""

    file_system_id: str
    """Id of the file system."""

    dns_name: str
    """Its DNS name."""

    mount_name: str
    """Its mount name."""

    client_security_group_id: str
    """Security group whose members may mount it."""


@dataclass(frozen=True, kw_only=True)
class DataRepository:
    """A folder of the file system that mirrors a bucket."""

    name: str
    """Construct id, in PascalCase."""

    path: str
    """Absolute path in the file system, for example `/data`."""

    bucket: s3.IBucket
    """The bucket on the other side."""

    direction: Literal["import", "export", "both"]
    """`import`: objects appear as files, changes and deletions follow. `export`: new and changed files become objects;
    a deleted file stays in the bucket. `both`: FSx decides which change wins where a file and its object change."""

    follows_bucket: bool = True
    """Whether later changes of the bucket reach the file system, too. For that FSx puts a notification of its own on
    the bucket (FSx for Lustre user guide, "Automatically import updates from your S3 bucket"); without it only what is
    there at first appears."""


@dataclass(frozen=True, kw_only=True)
class LustreProps:
    """Properties of a `Lustre`."""

    vpc: ec2.IVpc
    """The VPC of the subnet."""

    subnet: ec2.ISubnet
    """Where the file servers stand: the nodes' subnet."""

    capacity_gib: int
    """Storage capacity in GiB."""

    throughput_mb_s_per_tib: int
    """Throughput per unit of storage, MB/s/TiB."""

    data_repositories: Sequence[DataRepository] = ()
    """Folders that mirror buckets; at most eight."""

    keeps_buckets: bool
    """Whether the repositories' buckets outlive the stack."""

    removal_policy: cdk.RemovalPolicy
    """`DESTROY` deletes the data with the stack, `RETAIN` keeps file system and security group."""


class Lustre(Construct):
    """A PERSISTENT_2 SSD file system, Lustre 2.15, LZ4-compressed, encrypted.

    It depends on the subnet and its security group alone: at about ten minutes it is the longest wait of a deployment.
    """

    file_system: fsx.LustreFileSystem
    security_group: ec2.SecurityGroup
    client_security_group: ec2.SecurityGroup
    """Members of this group may mount the file system, and nobody else."""

    def __init__(self, scope: Construct, id: str, props: LustreProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.client_security_group = self._group(
            props.vpc, "ClientSecurityGroup", "FSx for Lustre: who may mount the file system"
        )
        # Another description would replace the group, and that the file system.
        self.security_group = self._group(
            props.vpc, "SecurityGroup", "FSx for Lustre: Lustre traffic with the VPC only"
        )
        # A retained file system keeps its group.
        self.security_group.apply_removal_policy(props.removal_policy)
        self._allow_clients()
        self.file_system = fsx.LustreFileSystem(
            self,
            "FileSystem",
            vpc=props.vpc,
            vpc_subnet=props.subnet,
            security_group=self.security_group,
            storage_capacity_gib=props.capacity_gib,
            # Set apart from the default: without a metadata configuration CDK would choose 2.12.
            file_system_type_version=fsx.FileSystemTypeVersion.V_2_15,
            lustre_configuration=fsx.LustreConfiguration(
                deployment_type=fsx.LustreDeploymentType.PERSISTENT_2,
                per_unit_storage_throughput=props.throughput_mb_s_per_tib,
                data_compression_type=fsx.LustreDataCompressionType.LZ4,
            ),
            removal_policy=props.removal_policy,
        )
        for repository in props.data_repositories:
            self._associate(repository, _association_policy(props))

    @property
    def mount(self) -> LustreMount:
        """What a client needs to mount it."""
        return LustreMount(
            file_system_id=self.file_system.file_system_id,
            dns_name=self.file_system.dns_name,
            mount_name=self.file_system.mount_name,
            client_security_group_id=self.client_security_group.security_group_id,
        )

    def _group(self, vpc: ec2.IVpc, id: str, description: str) -> ec2.SecurityGroup:  # noqa: A002
        group = ec2.SecurityGroup(self, id, vpc=vpc, description=description, allow_all_outbound=False)
        without_default_egress(group)
        return group

    def _allow_clients(self) -> None:
        servers, clients = self.security_group, self.client_security_group
        for first, last in facts.lustre_deployment(fsx.LustreDeploymentType.PERSISTENT_2.value).ports:
            port = ec2.Port.tcp(first) if first == last else ec2.Port.tcp_range(first, last)
            servers.add_ingress_rule(clients, port, "Lustre from clients")
            clients.add_egress_rule(servers, port, "Lustre to file servers")
            # Servers connect to their clients too, to take back locks; ParallelCluster's validator wants both ways.
            servers.add_egress_rule(clients, port, "Lustre to clients")
            clients.add_ingress_rule(servers, port, "Lustre from file servers")
        # Its file servers talk to each other. The CDK's file system adds the way in, and takes the way out for granted.
        servers.add_egress_rule(servers, ec2.Port.tcp_range(988, 1023), "Lustre between file servers")

    def _associate(self, repository: DataRepository, removal_policy: cdk.RemovalPolicy) -> None:
        imports = fsx.CfnDataRepositoryAssociation.AutoImportPolicyProperty(events=["NEW", "CHANGED", "DELETED"])
        exports = fsx.CfnDataRepositoryAssociation.AutoExportPolicyProperty(events=["NEW", "CHANGED"])
        # L1: the L2 file system has no associations for PERSISTENT_2.
        association = fsx.CfnDataRepositoryAssociation(
            self,
            repository.name,
            file_system_id=self.file_system.file_system_id,
            file_system_path=repository.path,
            data_repository_path=repository.bucket.s3_url_for_object(),
            batch_import_meta_data_on_create=repository.direction != "export",
            s3=fsx.CfnDataRepositoryAssociation.S3Property(
                auto_import_policy=imports if repository.direction != "export" and repository.follows_bucket else None,
                auto_export_policy=exports if repository.direction != "import" else None,
            ),
        )
        association.apply_removal_policy(removal_policy)


def _association_policy(props: LustreProps) -> cdk.RemovalPolicy:
    """A link stays when both its ends do.

    One that stayed while its bucket is emptied would import each deletion, and take the files from the kept file
    system.
    """
    return props.removal_policy if props.keeps_buckets else cdk.RemovalPolicy.DESTROY
