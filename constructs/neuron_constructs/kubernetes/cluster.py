"""An Amazon EKS cluster: control plane, who may use it, its core nodes and the add-ons that EKS keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, allow_redundant_depends_on, has_customer_key, skip_checkov
from neuron_constructs.kubernetes.add_ons import AddOns, AddOnsProps
from neuron_constructs.kubernetes.core_nodes import CoreNodesProps, core_nodes
from neuron_constructs.kubernetes.kubectl_functions import own_kubectl_functions
from neuron_constructs.kubernetes.nodes import node_role
from neuron_constructs.log_groups import stack_log_group

_LOAD_BALANCER_TAGS = ("kubernetes.io/role/elb", "kubernetes.io/role/internal-elb")


@dataclass(frozen=True, kw_only=True)
class KubernetesClusterProps:
    """Properties of a `KubernetesCluster`."""

    name: str
    """Name of the EKS cluster, one of its own in account and region; log groups hold it too. With a name of its own it
    is never replaced: a change that would do so fails, and nothing is deleted."""

    version: str
    """Kubernetes version, a row of the facts."""

    vpc: ec2.IVpc
    """The VPC."""

    private_subnets: Sequence[ec2.ISubnet]
    """Where the control plane has its network interfaces: two or more, in as many zones. EKS lets a cluster
    have other subnets later, but no other zones (user guide, "VPC requirements and considerations")."""

    core_subnets: Sequence[ec2.ISubnet]
    """Where core nodes are, in zones where EC2 offers their type: with any other EKS refuses the node group
    (eksctl-io/eksctl#6461)."""

    public_access_cidrs: Sequence[str]
    """IPv4 ranges that reach the cluster's API over the internet; without any it is reached from the VPC only."""

    administrator_arns: Sequence[str]
    """IAM roles and users who may do everything in the cluster."""

    user_groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Kubernetes groups of other IAM roles and users, by their ARN. What a group may do is for the software to say."""

    core_instance_type: str
    """EC2 instance type of the core nodes, x86_64."""

    core_min_count: int
    """Core nodes that always run."""

    core_max_count: int
    """Most core nodes."""

    lustre_client_group_id: str
    """Id of the security group whose members may mount /fsx."""

    log_retention: logs.RetentionDays
    """How long logs are kept while the stack stands."""

    tags: Mapping[str, str]
    """Tags of core instances and their volumes: those of the stack do not reach what EKS starts."""


class KubernetesCluster(Construct):
    """A cluster whose API is private unless ranges are named, with core nodes and add-ons.

    Whoever creates it has no rights in it: that is CloudFormation's role, which no person takes on. The named
    administrators have them, and the function of the CDK that installs charts and manifests; users have those of
    their groups.

    It stays on standard support: when that ends for its version, EKS moves the control plane to the next one instead of
    charging six times as much. Nodes stay until the environment names the new version and is deployed.

    Raises:
        slipway.facts.UnknownFact: there is no row for the Kubernetes version.
    """

    cluster: eks.ICluster
    node_role: iam.Role
    core_nodes: eks.Nodegroup
    add_ons: Mapping[str, eks.CfnAddon]

    def __init__(self, scope: Construct, id: str, props: KubernetesClusterProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        cluster = self._cluster(props)
        # The CDK cannot tag an existing VPC's subnets for load balancers of Kubernetes; nothing here makes one.
        cdk.Annotations.of(cluster).acknowledge_warning("@aws-cdk/aws-eks:clusterMustManuallyTagSubnet")
        for arn in props.administrator_arns:
            # Named by ARN, not by place in the list: a second entry for a principal is refused.
            cluster.grant_cluster_admin(f"Administrator-{arn}", arn)
        for arn, groups in props.user_groups.items():
            # Escape hatch: the L2 entry demands an access policy, and none of EKS' knows JobSets.
            eks.CfnAccessEntry(
                self,
                f"User-{arn}",
                cluster_name=cluster.cluster_name,
                principal_arn=arn,
                kubernetes_groups=list(groups),
            )
        # The CDK's type for Python lacks a member of its own interface.
        self.cluster = cast(eks.ICluster, cluster)
        self.node_role = node_role(self)
        self.core_nodes = core_nodes(
            self,
            "CoreNodes",
            CoreNodesProps(
                cluster=self.cluster,
                node_role=self.node_role,
                lustre_client_group_id=props.lustre_client_group_id,
                version=props.version,
                subnets=props.core_subnets,
                instance_type=props.core_instance_type,
                min_count=props.core_min_count,
                max_count=props.core_max_count,
                tags=props.tags,
            ),
        )
        self.add_ons = self._add_ons(props)

    def _add_ons(self, props: KubernetesClusterProps) -> Mapping[str, eks.CfnAddon]:
        add_ons = AddOns(
            self,
            "AddOns",
            AddOnsProps(
                cluster=self.cluster,
                cluster_name=props.name,
                version=props.version,
                log_retention=props.log_retention,
            ),
        )
        self.core_nodes.node.add_dependency(*add_ons.before_nodes)
        add_ons.install_after(self.core_nodes)
        return add_ons.by_name

    def _cluster(self, props: KubernetesClusterProps) -> eks.Cluster:
        access = eks.EndpointAccess.PRIVATE
        if props.public_access_cidrs:
            access = eks.EndpointAccess.PUBLIC_AND_PRIVATE.only_from(*props.public_access_cidrs)
        control_plane, functions = self._security_groups(props)
        cluster = eks.Cluster(
            self,
            "Cluster",
            cluster_name=props.name,
            version=eks.KubernetesVersion.of(props.version),
            vpc=props.vpc,
            vpc_subnets=[ec2.SubnetSelection(subnets=list(props.private_subnets))],
            endpoint_access=access,
            default_capacity_type=eks.DefaultCapacityType.NODEGROUP,
            default_capacity=0,
            bootstrap_cluster_creator_admin_permissions=False,
            # The add-ons below are those of EKS; what it would install instead belongs to nobody.
            bootstrap_self_managed_addons=False,
            cluster_logging=list(eks.ClusterLoggingTypes),
            secrets_encryption_key=None if has_customer_key(self) else self._secrets_key(),
            security_group=control_plane,
            kubectl_provider_options=eks.KubectlProviderOptions(
                kubectl_layer=self._kubectl_layer(), security_group=functions
            ),
        )
        acknowledge(
            cluster.role,
            {
                "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/AmazonEKSClusterPolicy]": (
                    "EKS demands it of the control plane and keeps it in step with what that does."
                )
            },
        )
        own_kubectl_functions(cluster, retention=props.log_retention)
        resource = cluster.node.default_child
        assert isinstance(resource, eks.CfnCluster)
        # Escape hatch: the L2 cluster has no upgrade policy.
        resource.upgrade_policy = eks.CfnCluster.UpgradePolicyProperty(support_type="STANDARD")
        # Escape hatch: the L2 cluster says what the key is for. EKS encrypts all Kubernetes API data with it since
        # Kubernetes 1.28, and does not read that any more (botocore 1.44.5, EKS, EncryptionConfig: deprecated).
        resource.add_property_deletion_override("EncryptionConfig.0.Resources")
        skip_checkov(resource, {"CKV_AWS_58": "checkov looks for the deprecated list of what is encrypted: all is."})
        # The group with its rule: the functions remove what is installed, and must reach the API until the end.
        resource.node.add_dependency(self._control_plane_logs(props), control_plane)
        allow_redundant_depends_on(resource)
        # The L2 cluster marks subnets for load balancers, which nothing in this cluster may make.
        for key in _LOAD_BALANCER_TAGS:
            cdk.Tags.of(props.vpc).remove(key)
        return cluster

    def _security_groups(self, props: KubernetesClusterProps) -> tuple[ec2.SecurityGroup, ec2.SecurityGroup]:
        """Return the groups of the control plane, and of the CDK's functions that talk to it.

        By default the functions are in the group that EKS makes. Lambda's interfaces outlive them and would hold it:
        EKS could not delete it with the cluster, and nobody else would.
        """
        control_plane = ec2.SecurityGroup(self, "ControlPlane", vpc=props.vpc, description="Kubernetes API")
        functions = ec2.SecurityGroup(self, "KubectlFunctions", vpc=props.vpc, description="kubectl of the CDK")
        control_plane.add_ingress_rule(functions, ec2.Port.HTTPS, "kubectl of the CDK")
        return control_plane, functions

    def _control_plane_logs(self, props: KubernetesClusterProps) -> logs.LogGroup:
        """Return the group that EKS writes to.

        EKS makes it by itself when it is missing, outside of any stack and without retention. Its name holds the
        cluster's, which is why the cluster is named: the group is there first, and goes after the cluster.
        """
        return stack_log_group(
            self, "ControlPlaneLogs", retention=props.log_retention, name=f"/aws/eks/{props.name}/cluster"
        )

    def _secrets_key(self) -> kms.Key:
        """Return the key of all Kubernetes API data. Nothing that it encrypts outlives the cluster."""
        return kms.Key(
            self,
            "SecretsKey",
            description="Kubernetes secrets of the cluster",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.DESTROY,
            pending_window=cdk.Duration.days(7),
        )

    def _kubectl_layer(self) -> lambda_.ILayerVersion:
        """Return kubectl and Helm for the CDK's function; kubectl works one minor version up and down."""
        # Imported here: it takes a second, which environments without a cluster need not wait.
        from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer  # noqa: PLC0415

        return KubectlV35Layer(self, "Kubectl")
