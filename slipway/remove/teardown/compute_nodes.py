"""The compute nodes of a cluster, found by the tags that ParallelCluster gives them."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from slipway.errors import FailedError

POLL_SECONDS = 15.0
"""How often EC2 is asked. A Trainium node takes a quarter of an hour and more to terminate."""

_LIVE = ("pending", "running", "shutting-down", "stopping", "stopped")
_MOST_AT_ONCE = 100
_MOST_NAMED = 8


@dataclass(frozen=True)
class ComputeNode:
    """An EC2 instance that is not terminated.

    Attributes:
        state: EC2's name of its state.
        queue: the Slurm partition, or the node group on Kubernetes.
    """

    instance_id: str
    instance_type: str
    state: str
    queue: str

    @property
    def is_going(self) -> bool:
        """Whether it was asked to terminate."""
        return self.state == "shutting-down"


def compute_nodes(ec2: Any, cluster: str) -> list[ComputeNode]:
    """Return the compute nodes of a cluster that are not terminated; head and login nodes are none."""
    filters = [
        {"Name": "tag:parallelcluster:cluster-name", "Values": [cluster]},
        {"Name": "tag:parallelcluster:node-type", "Values": ["Compute"]},
    ]
    return [_node(instance) for instance in live_instances(ec2, filters)]


def live_instances(ec2: Any, filters: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield EC2's rows of the instances that meet the filters and are not terminated."""
    states = {"Name": "instance-state-name", "Values": list(_LIVE)}
    for page in ec2.get_paginator("describe_instances").paginate(Filters=[*filters, states]):
        for reservation in page["Reservations"]:
            yield from reservation["Instances"]


def _node(instance: dict[str, Any]) -> ComputeNode:
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}
    return ComputeNode(
        instance_id=instance["InstanceId"],
        instance_type=instance["InstanceType"],
        state=instance["State"]["Name"],
        queue=tags.get("parallelcluster:queue-name", "?"),
    )


def terminate_all(ec2: Any, cluster: str, *, timeout_seconds: float, tell: Callable[[str], None]) -> None:
    """Terminate every compute node of a cluster and wait until EC2 has let go of the last one.

    Network interfaces, security groups and placement groups are in use until then, and cannot be deleted.

    Args:
        ec2: boto3 client.
        cluster: name of the cluster.
        timeout_seconds: longest wait.
        tell: called with how many nodes are in which state, as often as EC2 is asked.

    Raises:
        FailedError: nodes are still there after that time.
    """
    deadline = time.monotonic() + timeout_seconds
    while nodes := compute_nodes(ec2, cluster):
        running = [node.instance_id for node in nodes if not node.is_going]
        for start in range(0, len(running), _MOST_AT_ONCE):
            ec2.terminate_instances(InstanceIds=running[start : start + _MOST_AT_ONCE])
        if time.monotonic() >= deadline:
            raise FailedError(
                f"after {timeout_seconds / 60:.0f} minutes {cluster} still has {by_state(nodes)}: {_named(nodes)}. "
                "No stack was deleted. Run this again; it goes on where it stopped"
            )
        tell(f"{cluster}: {by_state(nodes)}")
        time.sleep(POLL_SECONDS)


def by_state(nodes: Sequence[ComputeNode]) -> str:
    """Count nodes by state: `3 nodes running, 1 node shutting-down`."""
    counts = Counter(node.state for node in nodes)
    return ", ".join(f"{count} node{'s' * (count != 1)} {state}" for state, count in sorted(counts.items()))


def _named(nodes: Sequence[ComputeNode]) -> str:
    names = [node.instance_id for node in nodes]
    return ", ".join(names[:_MOST_NAMED]) + (f" and {len(names) - _MOST_NAMED} more" if names[_MOST_NAMED:] else "")
