"""A Kubernetes cluster in a stack of its own, for tests of its constructs without the rest of an environment."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs

from neuron_constructs.kubernetes.cluster import KubernetesCluster, KubernetesClusterProps
from tests.assembly import cdk_context

REGION = "us-west-2"
NAME = "slipway-test-kubernetes"
ADMINISTRATORS = (
    "arn:aws:iam::111122223333:role/platform/engineer",
    "arn:aws:iam::444455556666:role/platform/engineer",
)


@dataclass(frozen=True)
class ClusterStack:
    """A stack with a cluster in the VPC of another stack."""

    app: cdk.App
    stack: cdk.Stack
    network: cdk.Stack
    kubernetes: KubernetesCluster


@dataclass(frozen=True)
class Synthesized:
    """The templates of such a stack and of its network."""

    template: Mapping[str, Any]
    network: Mapping[str, Any]

    def resources(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """The resources of a type, by logical id."""
        return {
            logical_id: resource
            for logical_id, resource in self.template["Resources"].items()
            if resource["Type"] == f"AWS::{kind}"
        }

    def one(self, kind: str) -> tuple[str, Mapping[str, Any]]:
        """The only resource of a type, with its logical id."""
        (found,) = self.resources(kind).items()
        return found


def cluster_stack(
    directory: Path,
    *,
    version: str = "1.35",
    public_access_cidrs: tuple[str, ...] = (),
    administrator_arns: tuple[str, ...] = ADMINISTRATORS,
) -> ClusterStack:
    """Return a cluster that is to be synthesized into a directory."""
    app = cdk.App(context=cdk_context(), outdir=str(directory))
    network = cdk.Stack(app, "network", env=cdk.Environment(region=REGION))
    vpc = ec2.Vpc(network, "Vpc", max_azs=2, nat_gateways=1)
    stack = cdk.Stack(app, NAME, env=cdk.Environment(region=REGION))
    kubernetes = KubernetesCluster(
        stack,
        "Cluster",
        KubernetesClusterProps(
            name=NAME,
            version=version,
            vpc=vpc,
            private_subnets=vpc.private_subnets,
            core_subnets=vpc.private_subnets,
            public_access_cidrs=public_access_cidrs,
            administrator_arns=administrator_arns,
            core_instance_type="m6i.xlarge",
            core_min_count=2,
            core_max_count=4,
            lustre_client_group_id="sg-0123456789abcdef0",
            log_retention=logs.RetentionDays.ONE_MONTH,
            tags={"slipway:environment": "test"},
        ),
    )
    return ClusterStack(app, stack, network, kubernetes)


def synthesize(built: ClusterStack) -> Synthesized:
    """Synthesize and return the templates."""
    directory = Path(built.app.synth().directory)
    template, network = (
        json.loads((directory / f"{stack.stack_name}.template.json").read_text())
        for stack in (built.stack, built.network)
    )
    return Synthesized(template, network)
