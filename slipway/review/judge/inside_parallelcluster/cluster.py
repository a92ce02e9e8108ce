"""The cluster of an assembly and its kinds of node: head node, queues, login pools."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slipway.review.judge.inside_parallelcluster.references import Stack


@dataclass(frozen=True)
class Node:
    """Nodes that share subnets, scripts and permissions."""

    where: str
    """For people, for example `queue trn1`."""

    section: Mapping[str, Any]
    """The part of the configuration that describes the nodes."""

    instance_types: tuple[str, ...]
    subnet_ids: tuple[str, ...]

    @property
    def policy_arns(self) -> list[str]:
        """The managed policies that the configuration adds to the nodes' role."""
        return [policy["Policy"] for policy in self.section.get("Iam", {}).get("AdditionalIamPolicies", [])]

    @property
    def s3_access(self) -> list[Mapping[str, Any]]:
        """The items of `Iam/S3Access`."""
        return list(self.section.get("Iam", {}).get("S3Access", []))

    @property
    def brings_own_role(self) -> bool:
        """Whether the nodes run with a role that the configuration only names."""
        return bool({"InstanceRole", "InstanceProfile"} & set(self.section.get("Iam", {})))

    @property
    def scripts(self) -> Iterator[str]:
        """The URLs of all custom actions."""
        for action in self.section.get("CustomActions", {}).values():
            for step in action.get("Sequence", [action]):
                yield step["Script"]


@dataclass(frozen=True)
class Cluster:
    """The custom resource as CloudFormation hands it to the provider."""

    logical_id: str
    stack: Stack
    """The stack that holds the resource."""

    stacks: Sequence[Stack]
    """All stacks of the assembly."""

    properties: Mapping[str, Any]
    """All properties but `ServiceToken`: references resolved, scalars turned into strings."""

    _services: Mapping[str, Mapping[str, str]]
    """Kind of VPC endpoint by part of an environment and by service."""

    @property
    def name(self) -> str:
        """`ClusterName`."""
        return str(self.properties["ClusterName"])

    @property
    def configuration(self) -> Mapping[str, Any]:
        """`ClusterConfiguration`."""
        configuration: Mapping[str, Any] = self.properties["ClusterConfiguration"]
        return configuration

    @property
    def services(self) -> Mapping[str, str]:
        """What its nodes ask of AWS, with the kind of VPC endpoint that leads there without a way out."""
        parts = {
            "slurm": True,
            "login_nodes": "LoginNodes" in self.configuration,
            "directory_service": "DirectoryService" in self.configuration,
            "accounting_database": "Database" in self.configuration["Scheduling"]["SlurmSettings"],
        }
        return {name: kind for part, there in parts.items() if there for name, kind in self._services[part].items()}

    @property
    def nodes(self) -> Iterator[Node]:
        """All kinds of node; the configuration must have passed ParallelCluster's schema."""
        head = self.configuration["HeadNode"]
        yield Node("head node", head, (head["InstanceType"],), (head["Networking"]["SubnetId"],))
        for queue in self.configuration["Scheduling"]["SlurmQueues"]:
            types = [kind for resource in queue["ComputeResources"] for kind in _instance_types(resource)]
            subnets = tuple(queue["Networking"]["SubnetIds"])
            yield Node(f"queue {queue['Name']}", queue, tuple(dict.fromkeys(types)), subnets)
        for pool in self.configuration.get("LoginNodes", {}).get("Pools", []):
            subnets = tuple(pool["Networking"]["SubnetIds"])
            yield Node(f"login pool {pool['Name']}", pool, (pool["InstanceType"],), subnets)


def _instance_types(compute_resource: Mapping[str, Any]) -> list[str]:
    if "InstanceType" in compute_resource:
        return [compute_resource["InstanceType"]]
    return [instance["InstanceType"] for instance in compute_resource["Instances"]]
