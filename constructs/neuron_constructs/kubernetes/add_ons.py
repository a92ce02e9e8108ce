"""The add-ons of Amazon EKS in a cluster: each pinned by the facts, with the rights of its own pods.

Their daemon sets tolerate every taint as they come, and so run on nodes with Neuron devices too (read in the charts of
vpc-cni 1.22, eks-pod-identity-agent 1.3.10, eks-node-monitoring-agent 1.7, aws-fsx-csi-driver 1.9 and
amazon-cloudwatch-observability 5.4; kube-proxy has no public chart, and must be on every node).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.kubernetes.pod_identity import service_account_role
from neuron_constructs.log_groups import stack_log_group
from slipway import facts

_CNI_POLICY = "AmazonEKS_CNI_Policy"

POD_ADDRESSES = 10
"""Addresses that a node has for its pods, besides its own, until it runs more than eight that need one."""

CONTAINER_INSIGHTS_LOGS = ("application", "dataplane", "host", "performance")
"""Last parts of the names of the log groups that the CloudWatch agent and Fluent Bit write to."""


@dataclass(frozen=True, kw_only=True)
class _AddOn:
    """How an add-on is installed.

    Attributes:
        waits_for_nodes: whether it runs deployments, which are not healthy before there are nodes.
        configuration: what differs from the add-on's own defaults.
    """

    waits_for_nodes: bool = False
    configuration: Mapping[str, Any] = field(default_factory=dict)


_ADD_ONS: Mapping[str, _AddOn] = {
    # In this order: the agent gives vpc-cni its rights, and nodes are not ready before they have a network.
    "eks-pod-identity-agent": _AddOn(),
    "vpc-cni": _AddOn(
        configuration={
            "enableNetworkPolicy": "true",
            # By default a node takes whole interfaces ahead of its pods: 100 addresses on a trn1.32xlarge, which runs
            # one pod of a job and a few of its own (amazon-vpc-cni-k8s, docs/eni-and-ip-target.md).
            "env": {"MINIMUM_IP_TARGET": str(POD_ADDRESSES), "WARM_IP_TARGET": "2"},
        }
    ),
    "kube-proxy": _AddOn(),
    "eks-node-monitoring-agent": _AddOn(),
    "coredns": _AddOn(waits_for_nodes=True),
    # It mounts a file system that is there, and makes none: its pods have no rights in the account, and no metadata
    # service. The controller, which would make some, logs now and then that it cannot list any.
    "aws-fsx-csi-driver": _AddOn(waits_for_nodes=True),
    "amazon-cloudwatch-observability": _AddOn(
        waits_for_nodes=True,
        configuration={
            "agent": {"config": {"logs": {"metrics_collected": {"kubernetes": {"enhanced_container_insights": True}}}}},
            # On by default since 5.0: it would load a tracer into every Python process of a pod behind a service.
            "manager": {"applicationSignals": {"autoMonitor": {"monitorAllServices": False}}},
        },
    ),
}


@dataclass(frozen=True, kw_only=True)
class AddOnsProps:
    """Properties of `AddOns`."""

    cluster: eks.ICluster
    """The cluster, made without the add-ons that EKS would install by itself."""

    cluster_name: str
    """Its name, in which log groups are named."""

    version: str
    """Kubernetes version, a row of the facts; it pins every add-on."""

    log_retention: logs.RetentionDays
    """How long the logs of Container Insights are kept."""


class AddOns(Construct):
    """Network, names, rights of pods, health of nodes, FSx for Lustre, logs and metrics.

    Nodes depend on `before_nodes`; `install_after` makes the others depend on nodes, so that they are installed when
    nodes can run them, and removed while nodes still can.

    Raises:
        slipway.facts.UnknownFact: there is no row for the Kubernetes version.
    """

    by_name: Mapping[str, eks.CfnAddon]
    """Each add-on."""

    def __init__(self, scope: Construct, id: str, props: AddOnsProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        versions = facts.kubernetes_version(props.version).add_ons
        groups = self._log_groups(props)
        rights = {
            "vpc-cni": self._association(self._network_role(props), "aws-node"),
            "amazon-cloudwatch-observability": self._association(
                self._observer_role(props, groups), "cloudwatch-agent"
            ),
        }
        self.by_name = {
            name: eks.CfnAddon(
                self,
                name,
                cluster_name=props.cluster.cluster_name,
                addon_name=name,
                addon_version=versions[name],
                configuration_values=json.dumps(add_on.configuration, sort_keys=True) if add_on.configuration else None,
                pod_identity_associations=[rights[name]] if name in rights else None,
                resolve_conflicts="OVERWRITE",
            )
            for name, add_on in _ADD_ONS.items()
        }
        self.by_name["vpc-cni"].node.add_dependency(self.by_name["eks-pod-identity-agent"])
        self.by_name["amazon-cloudwatch-observability"].node.add_dependency(*groups)

    @property
    def before_nodes(self) -> Sequence[eks.CfnAddon]:
        """What a node needs to become ready."""
        return [self.by_name[name] for name, add_on in _ADD_ONS.items() if not add_on.waits_for_nodes]

    def install_after(self, nodes: Construct) -> None:
        """Install what runs on core nodes after them.

        Args:
            nodes: the core nodes.
        """
        for name, add_on in _ADD_ONS.items():
            if add_on.waits_for_nodes:
                self.by_name[name].node.add_dependency(nodes)

    def _log_groups(self, props: AddOnsProps) -> Sequence[logs.LogGroup]:
        """Return the groups that the agents on the nodes would make themselves, without retention and for ever."""
        return [
            stack_log_group(
                self,
                f"{name.capitalize()}Logs",
                retention=props.log_retention,
                name=f"/aws/containerinsights/{props.cluster_name}/{name}",
            )
            for name in CONTAINER_INSIGHTS_LOGS
        ]

    def _network_role(self, props: AddOnsProps) -> iam.Role:
        """Return the role of vpc-cni, which gives pods addresses; so the nodes themselves need no such rights."""
        role = service_account_role(
            self,
            "NetworkRole",
            cluster=props.cluster,
            namespace="kube-system",
            service_account="aws-node",
            policies=[iam.ManagedPolicy.from_aws_managed_policy_name(_CNI_POLICY)],
        )
        acknowledge(
            role,
            {
                f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{_CNI_POLICY}]": (
                    "AWS keeps it in step with the add-on, whose version EKS installs; a copy would fall behind."
                )
            },
        )
        return role

    def _observer_role(self, props: AddOnsProps, groups: Sequence[logs.LogGroup]) -> iam.Role:
        """Return the role of the CloudWatch agent and of Fluent Bit.

        AWS's policy for agents also allows making log groups: the last lines of a cluster that is deleted would make
        one anew that nobody owns. Metrics travel in the log events.
        """
        policy = iam.ManagedPolicy(
            self,
            "ObserverPolicy",
            description="CloudWatch agent and Fluent Bit of the Kubernetes cluster: write to its log groups",
            statements=[
                iam.PolicyStatement(
                    actions=["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                    resources=[group.log_group_arn for group in groups],
                ),
                iam.PolicyStatement(actions=["ec2:DescribeTags", "ec2:DescribeVolumes"], resources=["*"]),
            ],
        )
        acknowledge(policy, {"AwsSolutions-IAM5[Resource::*]": "Describing tags and volumes knows no resource."})
        return service_account_role(
            self,
            "ObserverRole",
            cluster=props.cluster,
            namespace="amazon-cloudwatch",
            service_account="cloudwatch-agent",
            policies=[policy],
        )

    def _association(self, role: iam.Role, service_account: str) -> eks.CfnAddon.PodIdentityAssociationProperty:
        return eks.CfnAddon.PodIdentityAssociationProperty(role_arn=role.role_arn, service_account=service_account)
