"""The cluster's software in a stack of its own, and the manifests and charts in its template."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer

from neuron_constructs.kubernetes.software import ClusterSoftware, ClusterSoftwareProps, JobNodes, LustreVolume

VERSION = "1.35"

TRAINIUM = JobNodes(name="trn1", instance_type="trn1.32xlarge", max_count=4, efa=True)
SMALL_TRAINIUM = JobNodes(name="trn1-small", instance_type="trn1.2xlarge", max_count=2, efa=False)
CPU = JobNodes(name="cpu", instance_type="m6i.4xlarge", max_count=1, efa=False)
NODE_GROUPS = (TRAINIUM, SMALL_TRAINIUM, CPU)

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "torchrun": {"launcher": "torchrun", "queueing": "none"},
    "mpi": {"launcher": "mpi", "queueing": "none"},
    "kueue": {"launcher": "torchrun", "queueing": "kueue"},
    "mpi-kueue": {"launcher": "mpi", "queueing": "kueue"},
    "without-accelerators": {"launcher": "torchrun", "queueing": "kueue", "node_groups": (CPU,)},
}
"""Properties that differ, by a name for the test."""


def software(app: cdk.App, **changes: Any) -> ClusterSoftware:
    """Return the software of a cluster in a stack `Test`: the plainest, save the properties that are named."""
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
        "environment": {"name": "test", "bucket": cdk.Fn.import_value("bucket"), "quoted": 'a "b" \\ c'},
        "image": f"{cdk.Aws.ACCOUNT_ID}.dkr.ecr.us-west-2.amazonaws.com/slipway-test:0a1b2c",
        "training_stack": "xla-2.28.1",
        "launcher": "torchrun",
        "queueing": "none",
        **changes,
    }
    return ClusterSoftware(stack, "Software", ClusterSoftwareProps(**properties))


@dataclass(frozen=True)
class Installed:
    """What a stack with `ClusterSoftware` installs."""

    template: Mapping[str, Any]

    def resources(self, resource_type: str) -> dict[str, Any]:
        """Return the template's resources of one type, by logical id."""
        return {
            logical_id: resource
            for logical_id, resource in self.template["Resources"].items()
            if resource["Type"] == resource_type
        }

    def manifests(self) -> dict[str, list[dict[str, Any]]]:
        """Return the objects of each manifest, by logical id; what only the deployment knows is `known-later`."""
        found = self.resources("Custom::AWSCDK-EKS-KubernetesResource")
        return {
            logical_id: json.loads(resolved(resource["Properties"]["Manifest"]))
            for logical_id, resource in found.items()
        }

    def objects(self) -> list[dict[str, Any]]:
        """Return the objects of all manifests."""
        return [each for objects in self.manifests().values() for each in objects]

    def named(self, kind: str, name: str) -> dict[str, Any]:
        """Return the only object of a kind and name."""
        (found,) = (each for each in self.objects() if each["kind"] == kind and each["metadata"]["name"] == name)
        return found

    def charts(self) -> dict[str, dict[str, Any]]:
        """Return the properties of the charts by release, their values read."""
        found = [resource["Properties"] for resource in self.resources("Custom::AWSCDK-EKS-HelmChart").values()]
        return {each["Release"]: {**each, "Values": json.loads(resolved(each["Values"]))} for each in found}


def installed(**changes: Any) -> Installed:
    """Synthesize the software and return what its stack installs."""
    app = cdk.App()
    stack = cdk.Stack.of(software(app, **changes))
    return Installed(app.synth().get_stack_by_name(stack.stack_name).template)


def resolved(value: Any) -> str:
    """Return a text of a template as CloudFormation would, with `known-later` where it asks another resource."""
    if isinstance(value, str):
        return value
    if set(value) == {"Fn::Join"}:
        separator, parts = value["Fn::Join"]
        return _join(separator, parts)
    return "known-later"


def _join(separator: str, parts: Sequence[Any]) -> str:
    return separator.join(resolved(part) for part in parts)
