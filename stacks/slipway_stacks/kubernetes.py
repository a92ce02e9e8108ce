"""The kubernetes stack: an EKS cluster, its node groups, what is installed in it, the training image."""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from neuron_constructs.kubernetes import names
from neuron_constructs.kubernetes.cluster import KubernetesCluster, KubernetesClusterProps
from neuron_constructs.kubernetes.node_group import NodeGroup, NodeGroupProps
from neuron_constructs.kubernetes.pod_identity import pod_role
from neuron_constructs.kubernetes.software import (
    ClusterSoftware,
    ClusterSoftwareProps,
    JobNodes,
    JobSpace,
    LustreVolume,
)
from neuron_constructs.kubernetes.training_image import TrainingImage, TrainingImageProps
from neuron_constructs.provided_functions import own_provided_functions
from neuron_constructs.session_manager import first_instance, forward_port_command
from slipway import facts
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.bundle import ASSETS
from slipway.config.environment import Environment
from slipway.config.kubernetes import Kubernetes, Team
from slipway_stacks.environment_stack import EnvironmentStack
from slipway_stacks.network import NetworkStack
from slipway_stacks.settings.job_environment import kubernetes_job_environment
from slipway_stacks.settings.lifetimes import log_retention
from slipway_stacks.settings.teams import team_namespace, team_space, user_groups
from slipway_stacks.storage import StorageStack


class KubernetesStack(EnvironmentStack):
    """Amazon EKS: control plane, core nodes, node groups of Trainium and CPU nodes, the software of jobs.

    Lifetime: it may be destroyed and rebuilt alone; data is in the storage stack. While it stands it costs the control
    plane and the core nodes, and each node of jobs while it runs.
    """

    cluster: eks.ICluster
    cluster_name: str
    """The EKS cluster's name: the stack's."""

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        kubernetes: Kubernetes,
        *,
        network: NetworkStack,
        storage: StorageStack,
    ) -> None:
        """Create the stack.

        Args:
            scope: the app.
            environment: the environment file.
            kubernetes: its `kubernetes` section.
            network: the stack with the VPC.
            storage: the stack with the file system and the buckets.
        """
        super().__init__(scope, "kubernetes", environment, description="Slipway: EKS cluster of Trainium nodes")
        self._environment, self._kubernetes = environment, kubernetes
        # Of instances and volumes: those of the stack do not reach what EKS starts.
        self._node_tags = {ENVIRONMENT_TAG: environment.name, **environment.tags}
        built = KubernetesCluster(
            self,
            "Cluster",
            KubernetesClusterProps(
                name=self.stack_name,
                version=kubernetes.version,
                vpc=network.network.vpc,
                private_subnets=tuple(network.network.private_subnets.values()),
                core_subnets=self._core_subnets(network),
                public_access_cidrs=kubernetes.public_access_cidrs,
                administrator_arns=kubernetes.administrator_arns,
                user_groups=user_groups(kubernetes),
                core_instance_type=kubernetes.core_nodes.instance_type,
                core_min_count=kubernetes.core_nodes.min_count,
                core_max_count=kubernetes.core_nodes.max_count,
                lustre_client_group_id=storage.lustre.client_security_group_id,
                log_retention=log_retention(environment),
                tags=self._node_tags,
            ),
        )
        self.cluster, self.cluster_name = built.cluster, self.stack_name
        node_groups = self._node_groups(built, network, storage)
        roles = self._roles(storage)
        image = TrainingImage(
            self,
            "TrainingImage",
            TrainingImageProps(
                assets=ASSETS,
                training_stack=kubernetes.training_stack,
                log_retention=log_retention(environment),
            ),
        )
        software = ClusterSoftware(
            self,
            "Software",
            ClusterSoftwareProps(
                cluster=self.cluster,
                kubernetes_version=kubernetes.version,
                # Those of jobs, too: when all is deleted, their pods end while their nodes live.
                waits_for=(built.core_nodes, *built.add_ons.values(), node_groups),
                volume=LustreVolume(
                    file_system_id=storage.lustre.file_system_id,
                    dns_name=storage.lustre.dns_name,
                    mount_name=storage.lustre.mount_name,
                    capacity_gib=environment.storage.lustre.capacity_gib,
                ),
                node_groups=tuple(
                    JobNodes(
                        name=group.name,
                        instance_type=group.instance_type,
                        max_count=group.max_count,
                        efa=group.uses_efa,
                    )
                    for group in kubernetes.node_groups
                ),
                spaces=self._spaces(storage, image.image_uri),
                image=image.image_uri,
                training_stack=kubernetes.training_stack,
                launcher=kubernetes.launcher,
                queueing=kubernetes.queueing,
            ),
        )
        # A pod that is there before its role's association never gets the role.
        software.node.add_dependency(*roles)
        own_provided_functions(self, retention=log_retention(environment))
        self._say_how_to_connect(built.core_nodes.nodegroup_name)
        cdk.CfnOutput(
            self, "BuildTrainingImage", value=image.command, description="How to build the image again, and wait for it"
        )

    def _core_subnets(self, network: NetworkStack) -> tuple[ec2.ISubnet, ...]:
        """Return the private subnets in whose zones EC2 offers the core nodes' type; a rule wants two or more."""
        offered = facts.offered_zone_ids(self._kubernetes.core_nodes.instance_type, self._environment.region)
        return tuple(subnet for zone, subnet in network.network.private_subnets.items() if zone in offered)

    def _node_groups(self, built: KubernetesCluster, network: NetworkStack, storage: StorageStack) -> Construct:
        """Return the nodes of jobs, in the file system's zone: EFA does not cross zones."""
        environment = self._environment
        # Below a construct of their own: a node group may have any name.
        node_groups = Construct(self, "NodeGroups")
        # A node is ready once the cluster has its network, which core nodes wait for, too.
        node_groups.node.add_dependency(built.core_nodes)
        for group in self._kubernetes.node_groups:
            NodeGroup(
                node_groups,
                group.name,
                NodeGroupProps(
                    cluster=self.cluster,
                    node_role=built.node_role,
                    lustre_client_group_id=storage.lustre.client_security_group_id,
                    name=group.name,
                    instance_type=group.instance_type,
                    subnet=network.network.private_subnets[environment.network.training_availability_zone_id],
                    kubernetes_version=self._kubernetes.version,
                    neuron_runtime=facts.training_stack(self._kubernetes.training_stack).runtime,
                    min_count=group.min_count,
                    max_count=group.max_count,
                    capacity_type=group.capacity_type,
                    capacity_reservation_id=group.capacity_reservation_id,
                    placement_group=group.placement_group,
                    efa=group.uses_efa,
                    root_volume_gib=group.root_volume_gib,
                    auto_repair=group.auto_repair,
                    tags=self._node_tags,
                ),
            )
        return node_groups

    def _spaces(self, storage: StorageStack, image: str) -> tuple[JobSpace, ...]:
        """Return the namespaces of jobs: that of people without a team, then the teams'."""

        def told(team: Team | None) -> dict[str, Any]:
            return kubernetes_job_environment(self._environment, self._kubernetes, storage, image=image, team=team)

        return (JobSpace(environment=told(None)), *(team_space(team, told(team)) for team in self._kubernetes.teams))

    def _roles(self, storage: StorageStack) -> list[iam.Role]:
        """Return the roles of the service accounts, in each namespace that of jobs and that of the publish stage."""
        kubernetes = self._kubernetes
        secrets = self._secret_policies("", kubernetes.hugging_face_token_secret_arn)
        policies = [storage.node_policy.policy, *secrets]
        if kubernetes.teams:
            policies.append(self._others_checkpoints(storage))
        publisher = storage.publisher_policy.policy
        roles = self._space_roles("", names.NAMESPACE, policies, publisher)
        for team in kubernetes.teams:
            secrets = self._secret_policies(f"-{team.name}", team.hugging_face_token_secret_arn)
            policies = [storage.team_policies[team.name].policy, *secrets]
            roles += self._space_roles(f"-{team.name}", team_namespace(team.name), policies, publisher)
        return roles

    def _space_roles(
        self, suffix: str, namespace: str, policies: list[iam.ManagedPolicy], publisher: iam.ManagedPolicy
    ) -> list[iam.Role]:
        """Return the role of a namespace's jobs, and that of its publish stage, which adds to the model bucket too."""
        accounts = {
            "JobsRole": (names.JOBS_SERVICE_ACCOUNT, policies),
            "PublisherRole": (names.PUBLISHER_SERVICE_ACCOUNT, [*policies, publisher]),
        }
        return [
            pod_role(
                self,
                f"{kind}{suffix}",
                cluster=self.cluster,
                namespace=namespace,
                service_account=service_account,
                policies=allowed,
            )
            for kind, (service_account, allowed) in accounts.items()
        ]

    def _others_checkpoints(self, storage: StorageStack) -> iam.ManagedPolicy:
        """Return what keeps jobs without a team, which may do what Slurm's nodes may, from the teams' checkpoints."""
        policy = iam.ManagedPolicy(self, "TeamCheckpoints", description="Slipway: checkpoints of teams are their own")
        objects = storage.checkpoint_bucket.arn_for_objects(f"{names.TEAM_CHECKPOINTS}/*")
        policy.add_statements(iam.PolicyStatement(effect=iam.Effect.DENY, actions=["s3:*"], resources=[objects]))
        return policy

    def _secret_policies(self, suffix: str, secret: str | None) -> list[iam.ManagedPolicy]:
        """Let jobs read their Hugging Face token, where there is one."""
        if secret is None:
            return []
        policy = iam.ManagedPolicy(
            self, f"SecretPolicy{suffix}", description="Slipway: jobs read the Hugging Face token"
        )
        policy.add_statements(iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[secret]))
        return [policy]

    def _say_how_to_connect(self, core_nodes: str) -> None:
        region, name = self.region, self.cluster.cluster_name
        cdk.CfnOutput(self, "ClusterName", value=name, description="Name of the EKS cluster")
        cdk.CfnOutput(
            self,
            "Kubeconfig",
            value=f"aws eks update-kubeconfig --region {region} --name {name}",
            description="How kubectl finds the cluster, for administrators and users (`slipway docs kubernetes`)",
        )
        if not self._kubernetes.public_access_cidrs:
            cdk.CfnOutput(
                self,
                "Tunnel",
                value=forward_port_command(
                    first_instance({"eks:cluster-name": name, "eks:nodegroup-name": core_nodes}, region=region),
                    region=region,
                    host=cdk.Fn.select(2, cdk.Fn.split("/", self.cluster.cluster_endpoint)),
                    port=443,
                    local_port=8443,
                ),
                description="How kubectl reaches the API, which has no public address: keep it running",
            )
        cdk.CfnOutput(
            self,
            "Shell",
            value=f"kubectl exec -it -n {names.NAMESPACE} deploy/shell -- bash",
            description="Where slipway-job is, and /fsx",
        )
        cdk.CfnOutput(
            self,
            "TensorBoard",
            value=f"kubectl port-forward -n {names.NAMESPACE} svc/tensorboard 6006",
            description="TensorBoard of all runs, then on http://localhost:6006",
        )
