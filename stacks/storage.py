"""The storage stack: FSx for Lustre and the buckets for data, checkpoints and models."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.bucket_access import PARALLELCLUSTER_PATH, BucketAccess
from neuron_constructs.buckets import PrivateBucket, PrivateBucketProps
from neuron_constructs.lustre import DataRepository, Lustre, LustreProps
from neuron_constructs.provided_functions import own_provided_functions
from slipway.spec.environment import Environment
from stacks.environment_stack import EnvironmentStack
from stacks.lifetimes import log_retention, removal_policy, storage_lifecycle


class StorageStack(EnvironmentStack):
    """FSx for Lustre with its data repository associations, and three buckets.

    Lifetime: it outlives clusters and endpoints, which can be destroyed and rebuilt on top of it. While it stands it
    costs the file system by capacity and throughput, used or not, and what is in the buckets. With a persistent
    lifecycle `cdk destroy` keeps all of them.
    """

    data_bucket: s3.Bucket
    checkpoint_bucket: s3.Bucket
    model_bucket: s3.Bucket
    lustre: Lustre
    home: None = None
    accounting_database: None = None
    node_policy: BucketAccess
    model_reader: BucketAccess

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        *,
        vpc: ec2.IVpc,
        subnet: ec2.ISubnet,
        access_log_bucket: s3.IBucket,
    ) -> None:
        super().__init__(
            scope,
            "storage",
            environment,
            description="Slipway: FSx for Lustre, buckets for data, checkpoints, models",
            protected=storage_lifecycle(environment) == "persistent",
        )
        self._access_log_bucket = access_log_bucket
        data_policy = removal_policy(storage_lifecycle(environment))
        self.data_bucket = self._bucket("Data", data_policy)
        self.checkpoint_bucket = self._bucket("Checkpoints", data_policy)
        self.model_bucket = self._bucket("Models", data_policy)
        self.lustre = Lustre(
            self,
            "Lustre",
            LustreProps(
                vpc=vpc,
                subnet=subnet,
                client_cidr=environment.network.cidr,
                capacity_gib=environment.storage.lustre.capacity_gib,
                throughput_mb_s_per_tib=environment.storage.lustre.throughput_mb_s_per_tib,
                data_repositories=(
                    DataRepository(name="DataRepository", path="/data", bucket=self.data_bucket, direction="import"),
                    DataRepository(
                        name="CheckpointRepository",
                        path="/checkpoints",
                        bucket=self.checkpoint_bucket,
                        direction="export",
                    ),
                ),
                removal_policy=data_policy,
            ),
        )
        self.node_policy = BucketAccess(
            self,
            "NodePolicy",
            description="Slipway: jobs' access to data, checkpoints, models",
            path=PARALLELCLUSTER_PATH,
        )
        self.node_policy.allow_reading(self.data_bucket)
        self.node_policy.allow_reading_and_writing(self.checkpoint_bucket)
        self.node_policy.allow_reading_and_writing(self.model_bucket)
        self.model_reader = BucketAccess(self, "ModelReader", description="Slipway: inference hosts read models")
        self.model_reader.allow_reading(self.model_bucket)
        own_provided_functions(self, retention=log_retention(environment))

    def _bucket(self, role: str, policy: cdk.RemovalPolicy) -> s3.Bucket:
        return PrivateBucket(
            self,
            role,
            PrivateBucketProps(
                removal_policy=policy,
                access_log_bucket=self._access_log_bucket,
                access_log_prefix=f"s3/{role.lower()}/",
            ),
        ).bucket
