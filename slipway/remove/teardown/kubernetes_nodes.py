"""The nodes of jobs of an EKS cluster, brought to zero before its stack is deleted.

CloudFormation deletes a node group by draining its nodes, and gives up when that takes longer than it waits. A pod that
gets SIGTERM saves a checkpoint; a Trainium node takes more than a quarter of an hour to terminate. The core nodes
stay until CloudFormation takes them: what is installed in the cluster is uninstalled from there.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from slipway.aws.account import Account
from slipway.errors import FailedError
from slipway.remove.teardown.compute_nodes import ComputeNode, by_state, live_instances

POLL_SECONDS = 15.0
"""How often EC2 and EKS are asked."""

NODE_GROUP_LABEL = "slipway/node-group"
"""Label of node groups; its value is the name in the environment file, and `CORE` for those of the cluster itself."""

CORE = "core"
"""The node group that no job runs on."""

_BUSY = ("ResourceInUseException", "InvalidRequestException")


@dataclass(frozen=True)
class NodeGroup:
    """A managed node group of jobs.

    Attributes:
        id: EKS's name of it.
        name: its name in the environment file.
        wanted: nodes that shall run.
        least: nodes that always run.
        most: most nodes.
        auto_scaling_groups: names of the EC2 Auto Scaling groups that start its nodes.
    """

    id: str
    name: str
    wanted: int
    least: int
    most: int
    auto_scaling_groups: tuple[str, ...]


def cluster_stands(account: Account, cluster: str) -> bool:
    """Return whether an EKS cluster is there, in whatever state."""
    try:
        account.client("eks").describe_cluster(name=cluster)
    except account.client("eks").exceptions.ResourceNotFoundException:
        return False
    return True


def job_node_groups(account: Account, cluster: str) -> list[NodeGroup]:
    """Return the node groups of jobs of a cluster; None when the cluster is gone."""
    if not cluster_stands(account, cluster):
        return []
    pages = account.client("eks").get_paginator("list_nodegroups").paginate(clusterName=cluster)
    return list(_described(account, cluster, [name for page in pages for name in page["nodegroups"]]))


def _described(account: Account, cluster: str, ids: list[str]) -> Iterator[NodeGroup]:
    for id_ in ids:
        row = account.client("eks").describe_nodegroup(clusterName=cluster, nodegroupName=id_)["nodegroup"]
        name, scaling = row.get("labels", {}).get(NODE_GROUP_LABEL), row["scalingConfig"]
        if name and name != CORE:
            groups = tuple(group["name"] for group in row.get("resources", {}).get("autoScalingGroups", []))
            yield NodeGroup(id_, name, scaling["desiredSize"], scaling["minSize"], scaling["maxSize"], groups)


def job_nodes(account: Account, cluster: str) -> list[ComputeNode]:
    """Return the nodes of jobs that are not terminated, by the tags that EKS gives the instances of its node groups."""
    names = {group.id: group.name for group in job_node_groups(account, cluster)}
    if not names:
        return []
    filters = [
        {"Name": "tag:eks:cluster-name", "Values": [cluster]},
        {"Name": "tag:eks:nodegroup-name", "Values": list(names)},
    ]
    return [_node(instance, names) for instance in live_instances(account.client("ec2"), filters)]


def _node(instance: dict[str, Any], names: dict[str, str]) -> ComputeNode:
    tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
    return ComputeNode(
        instance_id=instance["InstanceId"],
        instance_type=instance["InstanceType"],
        state=instance["State"]["Name"],
        queue=names[tags["eks:nodegroup-name"]],
    )


def end_job_nodes(account: Account, cluster: str, *, timeout_seconds: float, tell: Callable[[str], None]) -> None:
    """Scale the node groups of jobs to zero and wait until EC2 has let go of the last node.

    Nothing starts a node any more: a run that was cut off begins again, and for its pods the autoscaler would.

    Args:
        account: where the cluster is.
        cluster: its name.
        timeout_seconds: longest wait.
        tell: called with how many nodes are in which state, as often as EC2 is asked.

    Raises:
        FailedError: nodes are still there after that time.
    """
    deadline = time.monotonic() + timeout_seconds
    _hold_launches(account, [name for group in job_node_groups(account, cluster) for name in group.auto_scaling_groups])
    while True:
        for group in job_node_groups(account, cluster):
            _scale_to_zero(account, cluster, group)
        nodes = job_nodes(account, cluster)
        if not nodes:
            return
        if time.monotonic() >= deadline:
            raise FailedError(
                f"after {timeout_seconds / 60:.0f} minutes {cluster} still has {by_state(nodes)} for jobs. No stack "
                "was deleted. Run this again; it goes on where it stopped"
            )
        tell(f"{cluster}: {by_state(nodes)}")
        time.sleep(POLL_SECONDS)


def _hold_launches(account: Account, names: list[str]) -> None:
    if not names:
        return
    pages = (
        account.client("autoscaling")
        .get_paginator("describe_auto_scaling_groups")
        .paginate(AutoScalingGroupNames=names)
    )
    for name in [group["AutoScalingGroupName"] for page in pages for group in page["AutoScalingGroups"]]:
        account.client("autoscaling").suspend_processes(AutoScalingGroupName=name, ScalingProcesses=["Launch"])


def _scale_to_zero(account: Account, cluster: str, group: NodeGroup) -> None:
    if not group.wanted and not group.least:
        return
    scaling = {"minSize": 0, "desiredSize": 0, "maxSize": group.most}
    try:
        account.client("eks").update_nodegroup_config(
            clusterName=cluster, nodegroupName=group.id, scalingConfig=scaling
        )
    except ClientError as error:
        # Another change of the group is under way: next time.
        if error.response["Error"]["Code"] not in _BUSY:
            raise
