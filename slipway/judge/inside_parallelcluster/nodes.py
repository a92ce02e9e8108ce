"""The kinds of node of a cluster configuration: head node, queues, login pools."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


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
        """URLs of all custom actions."""
        for action in self.section.get("CustomActions", {}).values():
            for step in action.get("Sequence", [action]):
                yield step["Script"]


def nodes(configuration: Mapping[str, Any]) -> Iterator[Node]:
    """Give all kinds of node of a configuration that passed ParallelCluster's schema."""
    head = configuration["HeadNode"]
    yield Node("head node", head, (head["InstanceType"],), (head["Networking"]["SubnetId"],))
    for queue in configuration["Scheduling"]["SlurmQueues"]:
        types = [kind for resource in queue["ComputeResources"] for kind in _instance_types(resource)]
        subnets = tuple(queue["Networking"]["SubnetIds"])
        yield Node(f"queue {queue['Name']}", queue, tuple(dict.fromkeys(types)), subnets)
    for pool in configuration.get("LoginNodes", {}).get("Pools", []):
        subnets = tuple(pool["Networking"]["SubnetIds"])
        yield Node(f"login pool {pool['Name']}", pool, (pool["InstanceType"],), subnets)


def _instance_types(compute_resource: Mapping[str, Any]) -> list[str]:
    if "InstanceType" in compute_resource:
        return [compute_resource["InstanceType"]]
    return [instance["InstanceType"] for instance in compute_resource["Instances"]]
