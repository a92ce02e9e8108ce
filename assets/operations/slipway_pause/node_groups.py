"""The node groups of jobs of an EKS cluster. Core nodes stay: the cluster's own software runs there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipway_pause.part import TAG, StateError

NODE_GROUP_LABEL = "slipway/node-group"
"""Label of node groups; its value is the name in the environment file, and `CORE` for those of the cluster itself."""

CORE = "core"
"""The node group that no job runs on."""


@dataclass(frozen=True)
class NodeGroup:
    """A managed node group of jobs.

    How many nodes it had is remembered on the cluster, beside its own tags.

    Attributes:
        eks: boto3 client.
        autoscaling: boto3 client of EC2 Auto Scaling.
        cluster: name of the EKS cluster.
        id: EKS's name of the node group.
        label: its name in the environment file.
    """

    eks: Any
    autoscaling: Any
    cluster: str
    id: str
    label: str

    @property
    def name(self) -> str:
        """What people know it by."""
        return f"node group {self.label} of {self.cluster}"

    def stop(self) -> str | None:
        """Hold launches, which pods that wait would ask for, and want no node."""
        row, memory = self._row(), self._memory()
        scaling = row["scalingConfig"]
        desired, least = scaling["desiredSize"], scaling["minSize"]
        if memory is None:
            memory = (least, desired)
            self.eks.tag_resource(resourceArn=self._cluster()["arn"], tags={self._tag: _written(memory)})
        for group in _auto_scaling_groups(row):
            self.autoscaling.suspend_processes(AutoScalingGroupName=group, ScalingProcesses=["Launch"])
        if not desired and not least:
            return f"has no node and starts none; it had {memory[1]}"
        self._scale(0, 0, scaling["maxSize"])
        return f"{desired} node{'s' * (desired != 1)} to 0; their pods are told to end first"

    def start(self) -> str | None:
        """Let nodes start again, and want as many as before."""
        memory = self._memory()
        if memory is None:
            return None
        row, (least, desired) = self._row(), memory
        most = row["scalingConfig"]["maxSize"]
        for group in _auto_scaling_groups(row):
            self.autoscaling.resume_processes(AutoScalingGroupName=group, ScalingProcesses=["Launch"])
        if row["scalingConfig"] != {"minSize": least, "desiredSize": desired, "maxSize": most}:
            # The environment file may allow fewer by now.
            self._scale(min(least, most), min(desired, most), most)
        self.eks.untag_resource(resourceArn=self._cluster()["arn"], tagKeys=[self._tag])
        return f"{desired} node{'s' * (desired != 1)} wanted, more when pods wait for them"

    def remembered(self) -> str | None:
        """How many nodes were wanted."""
        memory = self._memory()
        return f"{memory[1]} node{'s' * (memory[1] != 1)}" if memory else None

    @property
    def _tag(self) -> str:
        return f"{TAG}/{self.id}"

    def _memory(self) -> tuple[int, int] | None:
        """Return the fewest and the wanted nodes as they were."""
        text = self._cluster().get("tags", {}).get(self._tag)
        if text is None:
            return None
        found = re.fullmatch(r"minimum=(\d+) desired=(\d+)", text)
        if not found:
            raise StateError(f"the tag {self._tag} is not Slipway's: {text}")
        return int(found[1]), int(found[2])

    def _cluster(self) -> dict[str, Any]:
        cluster: dict[str, Any] = self.eks.describe_cluster(name=self.cluster)["cluster"]
        return cluster

    def _row(self) -> dict[str, Any]:
        answer = self.eks.describe_nodegroup(clusterName=self.cluster, nodegroupName=self.id)
        row: dict[str, Any] = answer["nodegroup"]
        return row

    def _scale(self, least: int, desired: int, most: int) -> None:
        self.eks.update_nodegroup_config(
            clusterName=self.cluster,
            nodegroupName=self.id,
            scalingConfig={"minSize": least, "desiredSize": desired, "maxSize": most},
        )


def job_node_groups(eks: Any, autoscaling: Any, cluster: str) -> Iterator[NodeGroup]:
    """Yield the node groups of jobs of a cluster; none when there is no such cluster.

    Raises:
        botocore.exceptions.ClientError: AWS refused.
    """
    try:
        eks.describe_cluster(name=cluster)
    except eks.exceptions.ResourceNotFoundException:
        return
    pages = list(eks.get_paginator("list_nodegroups").paginate(clusterName=cluster))
    for id_ in [name for page in pages for name in page["nodegroups"]]:
        row = eks.describe_nodegroup(clusterName=cluster, nodegroupName=id_)["nodegroup"]
        label = row.get("labels", {}).get(NODE_GROUP_LABEL)
        if label and label != CORE:
            yield NodeGroup(eks, autoscaling, cluster, id_, label)


def _auto_scaling_groups(row: dict[str, Any]) -> list[str]:
    return [group["name"] for group in row.get("resources", {}).get("autoScalingGroups", [])]


def _written(memory: tuple[int, int]) -> str:
    return f"minimum={memory[0]} desired={memory[1]}"
