"""The training stack: node scripts, node permissions and the Slurm cluster."""

from pathlib import Path
from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.bucket_access import PARALLELCLUSTER_PATH, BucketAccess
from neuron_constructs.buckets import PrivateBucket, PrivateBucketProps
from neuron_constructs.cluster.cluster import Cluster, ClusterProps
from neuron_constructs.cluster.configuration import ClusterConfigurationProps, cluster_configuration
from neuron_constructs.cluster.node_scripts import NodeScripts, NodeScriptsProps
from neuron_constructs.cluster.queues import ComputeResource, NodeAccess, Queue
from neuron_constructs.provided_functions import own_provided_functions
from slipway.spec import training as spec
from slipway.spec.environment import Environment
from stacks.environment_stack import ENVIRONMENT_TAG, EnvironmentStack
from stacks.lifetimes import log_retention, storage_lifecycle
from stacks.storage import StorageStack

CLUSTER_ASSETS = Path(__file__).parent.parent / "assets" / "cluster"
SCRIPT_PREFIX = "cluster"

_CAPACITY_TYPES: dict[str, Literal["ONDEMAND", "SPOT", "CAPACITY_BLOCK"]] = {
    "on_demand": "ONDEMAND",
    "spot": "SPOT",
    "capacity_block": "CAPACITY_BLOCK",
}


class TrainingStack(EnvironmentStack):
    """AWS ParallelCluster: a head node, Slurm queues of Trainium nodes, /home and /apps.

    Lifetime: it may be destroyed and rebuilt alone; data is in the storage stack. While it stands it costs the head
    node and its volumes, and each node while it runs. The cluster has a CloudFormation stack of its own, named like the
    cluster, which this stack's custom resource creates and deletes.
    """

    cluster: Cluster

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        *,
        subnet_id: str,
        storage: StorageStack,
        access_log_bucket: s3.IBucket,
    ) -> None:
        super().__init__(scope, "training", environment, description="Slipway: Slurm cluster of Trainium nodes")
        self._environment = environment
        training = environment.training
        script_bucket = PrivateBucket(
            self,
            "Scripts",
            PrivateBucketProps(
                removal_policy=cdk.RemovalPolicy.DESTROY,
                access_log_bucket=access_log_bucket,
                access_log_prefix="s3/scripts/",
            ),
        ).bucket
        scripts = NodeScripts(
            self,
            "NodeScripts",
            NodeScriptsProps(
                directory=CLUSTER_ASSETS,
                bucket=script_bucket,
                prefix=SCRIPT_PREFIX,
                region=environment.region,
                neuron_release=training.neuron_release,
                operating_system=training.operating_system,
                log_retention=log_retention(environment),
            ),
        )
        script_policy = BucketAccess(
            self, "ScriptPolicy", description="Slipway: read the node set-up scripts", path=PARALLELCLUSTER_PATH
        )
        script_policy.allow_reading(script_bucket, f"{SCRIPT_PREFIX}/*")
        access = NodeAccess(
            subnet_id=subnet_id,
            policy_arns=(storage.node_policy.arn, script_policy.arn, _session_manager_policy()),
            script_bucket=script_bucket.bucket_name,
            script_prefix=SCRIPT_PREFIX,
        )
        self.cluster = Cluster(
            self,
            "Cluster",
            ClusterProps(
                name=training.cluster_name,
                version=training.parallelcluster_version,
                region=environment.region,
                configuration=self._configuration(access, storage),
                script_reader_policy_arn=script_policy.arn,
                uses=(scripts.deployment, script_bucket),
            ),
        )
        own_provided_functions(self, retention=log_retention(environment))
        self._say_how_to_log_in()

    def _configuration(self, access: NodeAccess, storage: StorageStack) -> dict[str, object]:
        environment, training = self._environment, self._environment.training
        keep = storage_lifecycle(environment) == "persistent"
        return cluster_configuration(
            ClusterConfigurationProps(
                region=environment.region,
                operating_system=training.operating_system,
                head_node_instance_type=training.head_node.instance_type,
                head_node_root_volume_gib=training.head_node.root_volume_gib,
                login_cidr=environment.network.cidr,
                queues=tuple(_queue(queue) for queue in training.queues),
                access=access,
                lustre_file_system_id=storage.lustre.file_system.file_system_id,
                home_gib=training.home_gib,
                apps_gib=training.apps_gib,
                shared_volume_deletion="Snapshot" if keep else "Delete",
                scaledown_idletime_minutes=training.scaledown_idletime_minutes,
                queue_update_strategy=training.queue_update_strategy,
                log_retention_days=environment.operations.log_retention_days,
                tags={ENVIRONMENT_TAG: environment.name, **environment.tags},
            )
        )

    def _say_how_to_log_in(self) -> None:
        instance_id = self.cluster.head_node_instance_id
        cdk.CfnOutput(
            self,
            "HeadNodeSession",
            value=f"aws ssm start-session --region {self._environment.region} --target {instance_id}",
            description="How to log in to the head node (AWS CLI with the Session Manager plugin)",
        )


def _session_manager_policy() -> str:
    policy = iam.ManagedPolicy.from_aws_managed_policy_name("AmazonSSMManagedInstanceCore")
    return policy.managed_policy_arn


def _queue(queue: spec.Queue) -> Queue:
    """Translate a queue of the environment file."""
    return Queue(
        name=queue.name,
        capacity_type=_CAPACITY_TYPES[queue.capacity_type],
        capacity_reservation_id=queue.capacity_reservation_id,
        compute_resources=tuple(
            ComputeResource(
                name=resource.name,
                instance_type=resource.instance_type,
                min_count=resource.min_count,
                max_count=resource.max_count,
                efa=resource.uses_efa,
            )
            for resource in queue.compute_resources
        ),
    )
