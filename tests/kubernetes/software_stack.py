"""The cluster's software in a stack of its own."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer

from neuron_constructs.kubernetes.software import (
    ClusterSoftware,
    ClusterSoftwareProps,
    JobNodes,
    JobSpace,
    LustreVolume,
)
from tests.kubernetes.installed import Installed

VERSION = "1.35"

TRAINIUM = JobNodes(name="trn1", instance_type="trn1.32xlarge", max_count=4, efa=True)
SMALL_TRAINIUM = JobNodes(name="trn1-small", instance_type="trn1.2xlarge", max_count=2, efa=False)
CPU = JobNodes(name="cpu", instance_type="m6i.4xlarge", max_count=1, efa=False)
NODE_GROUPS = (TRAINIUM, SMALL_TRAINIUM, CPU)

ENVIRONMENT: Mapping[str, Any] = {"name": "test", "bucket": cdk.Fn.import_value("bucket"), "quoted": 'a "b" \\ c'}

RESEARCH = JobSpace(
    namespace="slipway-research",
    user_id=2001,
    runs_directory="/fsx/teams/research/runs",
    private_directories=("/fsx/teams/research", "/fsx/checkpoints/_teams/research"),
    environment=ENVIRONMENT,
)
"""A team beside the people without one."""

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "torchrun": {"launcher": "torchrun", "queueing": "none"},
    "mpi": {"launcher": "mpi", "queueing": "none"},
    "kueue": {"launcher": "torchrun", "queueing": "kueue"},
    "mpi-kueue": {"launcher": "mpi", "queueing": "kueue"},
    "without-accelerators": {"launcher": "torchrun", "queueing": "kueue", "node_groups": (CPU,)},
    "teams": {"launcher": "torchrun", "queueing": "kueue", "teams": (RESEARCH,)},
}
"""Properties that differ, by a name for the test."""


def software(app: cdk.App, *, teams: Sequence[JobSpace] = (), **changes: Any) -> ClusterSoftware:
    """Return the software of a cluster in a stack `Test`: the plainest, save the properties that are named.

    `teams` are further spaces.
    """
    stack = cdk.Stack(app, "Test", env=cdk.Environment(account="111122223333", region="us-west-2"))
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    made = eks.Cluster(
        stack,
        "Cluster",
        version=eks.KubernetesVersion.of(VERSION),
        vpc=vpc,
        default_capacity_type=eks.DefaultCapacityType.NODEGROUP,
        default_capacity=0,
        kubectl_provider_options=eks.KubectlProviderOptions(kubectl_layer=KubectlV35Layer(stack, "Kubectl")),
    )
    # As in KubernetesCluster: to mypy the class lacks a member of its own interface.
    cluster = cast(eks.ICluster, made)
    core = eks.Nodegroup(stack, "Core", cluster=cluster)
    properties: dict[str, Any] = {
        "cluster": cluster,
        "kubernetes_version": VERSION,
        "waits_for": [core],
        "volume": LustreVolume(
            file_system_id=cdk.Fn.import_value("file-system"),
            dns_name=f"{cdk.Fn.import_value('file-system')}.fsx.us-west-2.amazonaws.com",
            mount_name=cdk.Fn.import_value("mount-name"),
            capacity_gib=1200,
        ),
        "node_groups": NODE_GROUPS,
        "spaces": (JobSpace(environment=ENVIRONMENT), *teams),
        "image": f"{cdk.Aws.ACCOUNT_ID}.dkr.ecr.us-west-2.amazonaws.com/slipway-test:0a1b2c",
        "training_stack": "xla-2.28.1",
        "launcher": "torchrun",
        "queueing": "none",
        **changes,
    }
    return ClusterSoftware(stack, "Software", ClusterSoftwareProps(**properties))


def installed(**changes: Any) -> Installed:
    """Synthesize the software and return what its stack installs."""
    app = cdk.App()
    stack = cdk.Stack.of(software(app, **changes))
    return Installed(app.synth().get_stack_by_name(stack.stack_name).template)
