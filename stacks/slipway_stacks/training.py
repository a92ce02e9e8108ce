"""The training stack: node scripts, node permissions and the Slurm cluster."""

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.acknowledgements import accept_cluster_rules
from neuron_constructs.bucket_access import PARALLELCLUSTER_PATH, BucketAccess
from neuron_constructs.buckets import PrivateBucket, PrivateBucketProps
from neuron_constructs.cluster.cluster import Cluster, ClusterProps
from neuron_constructs.cluster.configuration import cluster_configuration
from neuron_constructs.cluster.job_kit import job_kit_sources
from neuron_constructs.cluster.node_access import NodeAccess, NodeRole
from neuron_constructs.cluster.node_bounds import fleet_bounds, node_bounds, session_log_bounds
from neuron_constructs.cluster.node_images import NodeImages, NodeImagesProps
from neuron_constructs.cluster.node_scripts import NodeScripts, NodeScriptsProps
from neuron_constructs.customer_key import head_node_key_policy
from neuron_constructs.log_groups import list_log_groups_command
from neuron_constructs.provided_functions import own_provided_functions
from neuron_constructs.session_manager import (
    UserSessions,
    first_instance,
    login_shell_command,
    session_policy,
    user_session_command,
)
from slipway import facts
from slipway.assembly.bootstrap import DEFAULT_QUALIFIER
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.bundle import ASSETS
from slipway.config.environment import Environment
from slipway.config.training import Training
from slipway_stacks.environment_stack import EnvironmentStack
from slipway_stacks.settings.cluster import cluster_settings
from slipway_stacks.settings.existing import existing_images
from slipway_stacks.settings.job_environment import slurm_job_environment
from slipway_stacks.settings.lifetimes import log_retention
from slipway_stacks.settings.proxy import proxy_settings
from slipway_stacks.storage import StorageStack

CLUSTER_ASSETS = ASSETS / "cluster"
SCRIPT_PREFIX = "cluster"


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
        training: Training,
        *,
        vpc: ec2.IVpc,
        subnet_id: str,
        storage: StorageStack,
        access_log_bucket: s3.IBucket,
    ) -> None:
        super().__init__(scope, "training", environment, description="Slipway: Slurm cluster of Trainium nodes")
        self._environment = environment
        self._training = training
        proxy = proxy_settings(environment)
        for image in existing_images(training):
            self.use_existing(image)
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
                bootstrap_qualifier=environment.bootstrap_qualifier or DEFAULT_QUALIFIER,
                training_stacks=training.training_stacks,
                users={user.name: user.uid for user in training.users},
                operating_system=training.operating_system,
                parallelcluster_version=training.parallelcluster_version,
                job_kit=job_kit_sources(ASSETS, slurm_job_environment(environment, training, storage)),
                log_retention=log_retention(environment),
                proxy=proxy,
            ),
        )
        self._user_sessions = (
            UserSessions(self, "UserSessions", retention=log_retention(environment)) if training.users else None
        )
        script_policy = BucketAccess(
            self, "ScriptPolicy", description="Slipway: read the node set-up scripts", path=PARALLELCLUSTER_PATH
        )
        script_policy.allow_reading(script_bucket, f"{SCRIPT_PREFIX}/*")
        access = NodeAccess(
            subnet_id=subnet_id,
            client_security_group_ids=storage.client_security_group_ids,
            policy_arns=self._node_policies(storage.node_policy.arn, script_policy.arn),
            script_bucket=script_bucket.bucket_name,
            script_prefix=SCRIPT_PREFIX,
            proxy_url=proxy.url if proxy else None,
        )
        self.cluster = Cluster(
            self,
            "Cluster",
            ClusterProps(
                name=training.cluster_name,
                version=training.parallelcluster_version,
                region=environment.region,
                configuration=cluster_configuration(cluster_settings(environment, training, access, storage)),
                uses=(scripts.deployment, script_bucket),
            ),
        )
        # The build needs package repositories: an isolated environment uses images that another one has baked.
        if not environment.network.isolated:
            self._publish_node_images(scripts, script_bucket, vpc, subnet_id)
        accept_cluster_rules(
            self.cluster,
            {
                "shared-volumes-for-few-nodes": "Jobs read and write data and checkpoints on /fsx. /home and /apps are "
                "read when a job starts, which a large job feels for minutes, not throughout."
            },
        )
        own_provided_functions(self, retention=log_retention(environment))
        self._say_how_to_log_in()
        self._say_how_to_start()

    def _publish_node_images(
        self, scripts: NodeScripts, script_bucket: s3.IBucket, vpc: ec2.IVpc, subnet_id: str
    ) -> None:
        """Put what an image build needs beside the node scripts, and say how to build one."""
        images = NodeImages(
            self,
            "NodeImages",
            NodeImagesProps(
                directory=CLUSTER_ASSETS,
                deployment=scripts.deployment,
                location=f"{script_bucket.bucket_name}/{SCRIPT_PREFIX}",
                cluster_name=self._training.cluster_name,
                region=self._environment.region,
                training_stacks=self._training.training_stacks,
                operating_system=self._training.operating_system,
                vpc=vpc,
                subnet_id=subnet_id,
                # The rules of the environment file make sure that it is x86_64 and offered in the training zone.
                instance_type=self._training.head_node.instance_type,
                permissions_boundary_arn=self._environment.permissions_boundary_arn,
                tags={ENVIRONMENT_TAG: self._environment.name, **self._environment.tags},
            ),
        )
        for training_stack, command in images.commands.items():
            cdk.CfnOutput(
                self,
                f"BakeImage-{training_stack}",
                value=command,
                description=f"How to bake a node image with {training_stack}, if you want: `slipway docs node-image`",
            )

    def _node_policies(self, *shared: str) -> Mapping[NodeRole, Sequence[str]]:
        cluster, owner = self._training.cluster_name, (ENVIRONMENT_TAG, self._environment.name)
        logs = self._user_sessions.log_group if self._user_sessions else None
        # `slipway destroy` asks the head node with Run Command which jobs run.
        sessions = session_policy(
            self, "SessionManagerPolicy", path=PARALLELCLUSTER_PATH, commands=True, log_group=logs
        )
        bounds = node_bounds(
            self, "NodeBounds", cluster_name=cluster, owner=owner, session_logs=logs.log_group_name if logs else None
        )
        fleet = fleet_bounds(self, "FleetBounds", cluster_name=cluster)
        no_logs = [session_log_bounds(self, "SessionLogBounds", log_group_name=logs.log_group_name)] if logs else []
        everywhere = (*shared, bounds.managed_policy_arn)
        key = self._environment.kms
        keys = [head_node_key_policy(self, "KeyPolicy", key_arn=key.key_arn, region=self.region)] if key else []
        return {
            "head": (*everywhere, sessions.managed_policy_arn, *(policy.managed_policy_arn for policy in keys)),
            "login": (*everywhere, sessions.managed_policy_arn, fleet.managed_policy_arn),
            # Nobody opens a session on a compute node: the head node reaches it with SSH.
            "compute": (*everywhere, fleet.managed_policy_arn, *(policy.managed_policy_arn for policy in no_logs)),
        }

    def _say_how_to_log_in(self) -> None:
        region, cluster = self._environment.region, self._training.cluster_name
        nodes = {"HeadNode": ("the head node", self.cluster.head_node_instance_id)}
        if self._training.login_nodes:
            tags = {"parallelcluster:cluster-name": cluster, "parallelcluster:node-type": "LoginNode"}
            nodes["LoginNode"] = ("a login node", first_instance(tags, region=region))
        user = facts.operating_system(self._training.operating_system).cluster_user
        own_name = f", with your name in the directory for {user}" if self._training.directory_service else ""
        if self._user_sessions:
            own_name = ", as an administrator"
            # Where there are login nodes, users have no business on the head node.
            place, instance_id = nodes.get("LoginNode", nodes["HeadNode"])
            cdk.CfnOutput(
                self,
                "UserSession",
                value=user_session_command(instance_id, region=region, document_name=self._user_sessions.document_name),
                description=f"How a user of the file logs in to {place} (`slipway docs onboarding`)",
            )
        for name, (place, instance_id) in nodes.items():
            cdk.CfnOutput(
                self,
                f"{name}Session",
                value=login_shell_command(instance_id, region=region, user=user),
                description=f"How to log in to {place}{own_name} (AWS CLI with the Session Manager plugin)",
            )
        cdk.CfnOutput(
            self,
            "LogGroups",
            # Their names end in the time, from the year on: `-20` leaves out clusters whose names begin alike.
            value=list_log_groups_command(f"/aws/parallelcluster/{cluster}-20", region=region),
            description="Lists the log groups of the cluster's nodes; the newest is the last one",
        )

    def _say_how_to_start(self) -> None:
        queue = next((queue.name for queue in self._training.queues if queue.accelerated), None)
        if queue:
            cdk.CfnOutput(
                self,
                "FirstJob",
                value=f"sbatch --partition {queue} /apps/slipway/smoke/neuron_ls.sbatch",
                description="First job, on the head node: starts a node and counts its devices (`slipway docs health`)",
            )
