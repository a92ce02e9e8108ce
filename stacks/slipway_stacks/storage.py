"""The storage stack: file systems, the buckets for data, checkpoints and models, the accounting database."""

from collections.abc import Iterator, Mapping

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.accounting_database import AccountingDatabase, AccountingDatabaseProps
from neuron_constructs.bucket_access import PARALLELCLUSTER_PATH, BucketAccess, allow_reading_by_roles, deny_changes
from neuron_constructs.buckets import PrivateBucket, PrivateBucketProps
from neuron_constructs.cluster.shared_storage import SharedFileSystem
from neuron_constructs.lustre import DataRepository, Lustre, LustreMount, LustreProps
from neuron_constructs.object_access_trail import ObjectAccessTrail
from neuron_constructs.open_zfs import OpenZfsHome, OpenZfsHomeProps
from neuron_constructs.provided_functions import own_provided_functions
from slipway.config.environment import Environment
from slipway.config.inference import LustreSource
from slipway.config.network import vpc_cidr
from slipway.config.storage import Home
from slipway_stacks.environment_stack import EnvironmentStack
from slipway_stacks.settings.existing import existing_nfs, existing_storage, lustre_mount, shared_file_system
from slipway_stacks.settings.lifetimes import (
    database_removal_policy,
    home_lifecycle,
    keeps_data,
    log_retention,
    lustre_lifecycle,
    removal_policy,
    storage_lifecycle,
)
from slipway_stacks.settings.served_model import MODELS_ON_LUSTRE
from slipway_stacks.settings.teams import checkpoint_keys


class StorageStack(EnvironmentStack):
    """FSx for Lustre with its data repository associations, three buckets; OpenZFS and a database where wanted.

    Lifetime: it outlives clusters and endpoints, which can be destroyed and rebuilt on top of it. While it stands it
    costs the file systems by capacity and throughput, used or not, the database, and what is in the buckets. With a
    persistent lifecycle `cdk destroy` keeps file systems and buckets, and a last snapshot of the database.
    """

    data_bucket: s3.IBucket
    checkpoint_bucket: s3.IBucket
    model_bucket: s3.IBucket
    lustre: LustreMount
    home: SharedFileSystem | None
    own_home: OpenZfsHome | None
    """/home where it is a file system of this stack's."""

    shared_directories: Mapping[str, SharedFileSystem]
    client_security_group_ids: tuple[str, ...]
    """Groups of which nodes must be members to mount all that."""

    accounting_database: AccountingDatabase | None
    node_policy: BucketAccess
    publisher_policy: BucketAccess
    publisher_role: iam.Role | None
    model_reader: BucketAccess
    team_policies: Mapping[str, BucketAccess]
    """What the jobs of each team on the Kubernetes cluster may do in the buckets, by the team's name."""

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        *,
        vpc: ec2.IVpc,
        private_subnets: Mapping[str, ec2.ISubnet],
        access_log_bucket: s3.IBucket,
    ) -> None:
        """Create the stack.

        Args:
            scope: the app.
            environment: the environment file.
            vpc: the VPC.
            private_subnets: private subnets by availability zone id.
            access_log_bucket: bucket for the buckets' access logs.
        """
        super().__init__(
            scope,
            "storage",
            environment,
            description="Slipway: file systems, buckets for data, checkpoints, models, accounting database",
            protected=keeps_data(environment),
        )
        self._environment = environment
        self._vpc = vpc
        self._access_log_bucket = access_log_bucket
        training_subnet = private_subnets[environment.network.training_availability_zone_id]
        existing = environment.storage.existing_buckets
        self.data_bucket = self._bucket("Data", existing.data)
        self.checkpoint_bucket = self._bucket("Checkpoints", existing.checkpoints)
        # Events of what is served, for the inference stack's rules.
        serves = environment.inference is not None
        self.model_bucket = self._bucket("Models", existing.models, tells_of_changes=serves)
        self.lustre = self._lustre_mount(training_subnet)
        self._mount_nfs(training_subnet)
        self.accounting_database = self._accounting_database(tuple(private_subnets.values()))
        self._allow_access_to_buckets()
        self._record_object_access()
        self._say_where_data_goes()
        for existing_resource in existing_storage(environment):
            self.use_existing(existing_resource)
        own_provided_functions(self, retention=log_retention(environment))

    def _bucket(self, role: str, existing: str | None, *, tells_of_changes: bool = False) -> s3.IBucket:
        if existing:
            return s3.Bucket.from_bucket_name(self, role, existing)
        return PrivateBucket(
            self,
            role,
            PrivateBucketProps(
                removal_policy=removal_policy(storage_lifecycle(self._environment)),
                access_log_bucket=self._access_log_bucket,
                access_log_prefix=f"s3/{role.lower()}/",
                noncurrent_version_days=self._environment.storage.deleted_object_days,
                tells_of_changes=tells_of_changes,
            ),
        ).bucket

    def _record_object_access(self) -> None:
        if self._environment.storage.record_object_access:
            ObjectAccessTrail(
                self,
                "ObjectAccess",
                buckets=(self.checkpoint_bucket, self.model_bucket),
                retention_days=self._environment.operations.log_retention_days,
                removal_policy=removal_policy(storage_lifecycle(self._environment)),
                access_log_bucket=self._access_log_bucket,
            )

    def _say_where_data_goes(self) -> None:
        for name, bucket, description in (
            ("DataBucket", self.data_bucket, "Text to train on: /fsx/data shows it"),
            ("CheckpointBucket", self.checkpoint_bucket, "What is written below /fsx/checkpoints"),
            ("ModelBucket", self.model_bucket, "Published versions of models"),
        ):
            cdk.CfnOutput(self, name, value=bucket.bucket_name, description=description)

    def _lustre_mount(self, subnet: ec2.ISubnet) -> LustreMount:
        wanted = self._environment.storage.lustre
        if wanted.existing:
            return lustre_mount(wanted.existing, self.region)
        existing = self._environment.storage.existing_buckets
        return Lustre(
            self,
            "Lustre",
            LustreProps(
                vpc=self._vpc,
                subnet=subnet,
                capacity_gib=wanted.capacity_gib,
                throughput_mb_s_per_tib=wanted.throughput_mb_s_per_tib,
                data_repositories=(
                    DataRepository(
                        name="DataRepository",
                        path="/data",
                        bucket=self.data_bucket,
                        direction="both",
                        follows_bucket=existing.data is None,
                    ),
                    DataRepository(
                        name="CheckpointRepository",
                        path="/checkpoints",
                        bucket=self.checkpoint_bucket,
                        direction="export",
                    ),
                    *self._model_repositories(),
                ),
                keeps_buckets=storage_lifecycle(self._environment) == "persistent",
                removal_policy=removal_policy(lustre_lifecycle(self._environment)),
            ),
        ).mount

    def _model_repositories(self) -> Iterator[DataRepository]:
        """Yield the models' folder, where inference hosts read it from this file system."""
        inference = self._environment.inference
        if inference and any(isinstance(model.source, LustreSource) for model in inference.models):
            yield DataRepository(
                name="ModelRepository", path=MODELS_ON_LUSTRE, bucket=self.model_bucket, direction="import"
            )

    def _mount_nfs(self, subnet: ec2.ISubnet) -> None:
        """Find out what nodes mount over NFS, and which groups let them mount anything."""
        storage = self._environment.storage
        existing = existing_nfs(storage)
        mounted = {name: shared_file_system(file_system) for name, file_system in existing.items()}
        groups = [file_system.client_security_group_id for file_system in existing.values()]
        self.own_home = None
        if storage.home and not storage.home.existing:
            self.own_home = self._home(subnet, storage.home)
            mounted["home"] = SharedFileSystem(type="FsxOpenZfs", id=self.own_home.root_volume_id)
            groups.append(self.own_home.client_security_group.security_group_id)
        self.home = mounted.pop("home", None)
        self.shared_directories = mounted
        self.client_security_group_ids = tuple(dict.fromkeys((self.lustre.client_security_group_id, *groups)))

    def _home(self, subnet: ec2.ISubnet, wanted: Home) -> OpenZfsHome:
        return OpenZfsHome(
            self,
            "Home",
            OpenZfsHomeProps(
                vpc=self._vpc,
                subnet=subnet,
                client_cidr=vpc_cidr(self._environment.network),
                capacity_gib=wanted.capacity_gib,
                throughput_mb_s=wanted.throughput_mb_s,
                backup_retention_days=wanted.backup_retention_days,
                removal_policy=removal_policy(home_lifecycle(self._environment)),
            ),
        )

    def _accounting_database(self, subnets: tuple[ec2.ISubnet, ...]) -> AccountingDatabase | None:
        wanted = self._environment.storage.accounting_database
        if wanted is None:
            return None
        return AccountingDatabase(
            self,
            "Accounting",
            AccountingDatabaseProps(
                vpc=self._vpc,
                subnets=subnets,
                instance_type=wanted.instance_type,
                storage_gib=wanted.storage_gib,
                multi_az=wanted.multi_az,
                backup_retention_days=wanted.backup_retention_days,
                removal_policy=database_removal_policy(storage_lifecycle(self._environment)),
            ),
        )

    def _allow_access_to_buckets(self) -> None:
        self.node_policy = BucketAccess(
            self,
            "NodePolicy",
            description="Slipway: jobs' access to data, checkpoints, models",
            path=PARALLELCLUSTER_PATH,
        )
        self.node_policy.allow_reading(self.data_bucket)
        self.node_policy.allow_reading_and_writing(self.checkpoint_bucket)
        self.node_policy.allow_reading(self.model_bucket)
        self._allow_publishing()
        self.model_reader = BucketAccess(self, "ModelReader", description="Slipway: inference hosts read models")
        self.model_reader.allow_reading(self.model_bucket)
        if isinstance(self.model_bucket, s3.Bucket):
            allow_reading_by_roles(self.model_bucket, self._environment.storage.model_readers)
        kubernetes = self._environment.kubernetes
        self.team_policies = (
            {team.name: self._team_policy(team.name) for team in kubernetes.teams} if kubernetes else {}
        )

    def _team_policy(self, team: str) -> BucketAccess:
        """Return what a team's jobs may do: data and models as all jobs, and checkpoints of their own."""
        access = BucketAccess(self, f"Team-{team}", description=f"Slipway: access of the team {team}'s jobs to buckets")
        access.allow_reading(self.data_bucket)
        access.allow_reading_and_writing(self.checkpoint_bucket, f"{checkpoint_keys(team)}/")
        access.allow_reading(self.model_bucket)
        return access

    def _allow_publishing(self) -> None:
        """Give the publish stage what it needs to add a version, and deny every job to change one."""
        self.publisher_policy = BucketAccess(self, "PublisherPolicy", description="Slipway: jobs publish new models")
        self.publisher_policy.allow_adding(self.model_bucket)
        self.publisher_role = self._publisher_role()
        cluster_roles = f"arn:{cdk.Aws.PARTITION}:iam::{cdk.Aws.ACCOUNT_ID}:role{PARALLELCLUSTER_PATH}*"
        publisher = [self.publisher_role.role_arn] if self.publisher_role else []
        if isinstance(self.model_bucket, s3.Bucket):
            deny_changes(self.model_bucket, [cluster_roles, *publisher])

    def _publisher_role(self) -> iam.Role | None:
        """Return the role that jobs on Slurm take to publish: CloudTrail then says which run did.

        Every job of the cluster can take it. That versions stay as they are is the bucket policy's doing.
        """
        training = self._environment.training
        if training is None:
            return None
        # The path of the roles of a cluster's nodes (aws-parallelcluster 3.16.1, templates/cdk_builder_utils.py).
        nodes = f"arn:{cdk.Aws.PARTITION}:iam::{cdk.Aws.ACCOUNT_ID}:role{PARALLELCLUSTER_PATH}{training.cluster_name}/*"
        role = iam.Role(
            self,
            "ModelPublisher",
            description="Slipway: the publish stage of jobs on Slurm",
            assumed_by=iam.AccountRootPrincipal().with_conditions({"ArnLike": {"aws:PrincipalArn": nodes}}),
            managed_policies=[self.publisher_policy.policy],
        )
        self.node_policy.policy.add_statements(
            iam.PolicyStatement(actions=["sts:AssumeRole"], resources=[role.role_arn])
        )
        return role
