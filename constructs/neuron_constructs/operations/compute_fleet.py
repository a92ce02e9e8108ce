"""The compute fleet: nodes that do not come, that come and fail, and that stay for nothing.

The metrics are ParallelCluster's own: filters over the events that clustermgtd and the nodes write into the cluster's
log group (aws-parallelcluster 3.16.1, templates/cw_dashboard_builder.py). Their one dimension is the cluster's name.
"""

from neuron_constructs.operations.metrics import Source
from neuron_constructs.operations.watch import Alarm, Graph, WatchedPart, error_alarms

_IDLE_GRACE_MINUTES = 30
"""How much longer than the idle time a node may stand: Slurm and EC2 need some minutes each."""

_LOG = "the node's cloud-init-output stream in the log group /aws/parallelcluster/<cluster>-<time>"

_BOOTSTRAP_ERRORS = {
    "InstanceBootstrapTimeoutErrors": (
        "NodeBootstrapTimedOut",
        "Nodes were started, cost money, and did not join Slurm in time. Find the last step in "
        f"{_LOG}. After ten in a row ParallelCluster sets the queue INACTIVE; `pcluster update-compute-fleet` starts "
        "it again.",
    ),
    "OnNodeConfiguredRunErrors": (
        "NodeSetUpFailed",
        f"node_configured.sh failed on a node, which was terminated. Its last step and the reason are in {_LOG}.",
    ),
    "OnNodeConfiguredDownloadErrors": (
        "NodeSetUpNotDownloaded",
        "Nodes cannot download node_configured.sh. Deploy the training stack again: it fills the script bucket. Then "
        "look at the S3 gateway endpoint and at the nodes' role.",
    ),
}
"""Metric -> name of the alarm, what it means."""

_LAUNCH_ERRORS = {
    "InsufficientCapacityErrors": (
        "NoCapacity",
        "EC2 has no capacity for a queue's instance type; jobs wait, ParallelCluster tries again every ten minutes. "
        "Reserve capacity (On-Demand Capacity Reservation or Capacity Block), or move to another zone.",
    ),
    "VcpuLimitErrors": (
        "VcpuQuotaReached",
        "The account's EC2 quota (vCPUs) is reached: nodes are not started. Ask for more in Service Quotas, Amazon "
        "EC2, `Running On-Demand Trn instances` or the one for spot.",
    ),
    "VolumeLimitErrors": (
        "VolumeQuotaReached",
        "The account's quota of EBS storage is reached: nodes are not started. Ask for more in Service Quotas, Amazon "
        "EBS, or delete old volumes.",
    ),
    "IamPolicyErrors": (
        "LaunchNotAllowed",
        "The head node's role may not start nodes. Was a policy, a permissions boundary or a service control policy "
        "changed? The refused action is in /var/log/parallelcluster/slurm_resume.log.",
    ),
    "OtherInstanceLaunchFailures": (
        "LaunchFailed",
        "EC2 refuses to start nodes. The reason is in /var/log/parallelcluster/slurm_resume.log on the head node; "
        "often a capacity reservation that has ended, a subnet without free addresses or an AMI that was deregistered.",
    ),
}

_NODE_ERRORS = {
    "SlurmNodeNotRespondingErrors": (
        "NodesNotResponding",
        "Nodes run but do not answer Slurm; they cost money and ParallelCluster replaces them. `sinfo -R` shows which; "
        "a job that takes all memory is the usual cause.",
    ),
    "NoCorrespondingInstanceErrors": (
        "NodesVanished",
        "Nodes that Slurm counts on have no instance any more: terminated by hand, or taken back by spot. Jobs on them "
        "are requeued; do they write checkpoints?",
    ),
    "EC2HealthCheckErrors": (
        "NodesUnhealthy",
        "Nodes fail EC2's status checks and are replaced. When the same instance type fails again and again, open a "
        "case with AWS Support and name the instance ids.",
    ),
    "ScheduledEventHealthCheckErrors": (
        "NodesToBeRetired",
        "AWS will retire the hardware under nodes; ParallelCluster drains and replaces them. Jobs on them should write "
        "a checkpoint now.",
    ),
}


def watch_compute_fleet(cluster_name: str, scaledown_idletime_minutes: int) -> WatchedPart:
    """Return what is watched of a cluster's compute nodes.

    Args:
        cluster_name: name of the cluster.
        scaledown_idletime_minutes: minutes without a job after which Slurm should terminate a node.
    """
    source = Source("ParallelCluster", {"ClusterName": cluster_name})
    idle = source.metric("MaxDynamicNodeIdleTime", "Maximum")
    errors = {**_BOOTSTRAP_ERRORS, **_LAUNCH_ERRORS, **_NODE_ERRORS}
    return WatchedPart(
        title="Compute nodes",
        alarms=[
            *error_alarms(source, errors),
            Alarm(
                name="NodeIdleTooLong",
                metric=idle,
                fires="above",
                threshold=60 * (scaledown_idletime_minutes + _IDLE_GRACE_MINUTES),
                periods=3,
                means="A dynamic node has had no job for half an hour longer than training.scaledown_idletime_minutes "
                "and costs money. `sinfo -N -l` shows it; `scontrol update nodename=<node> state=power_down` ends it.",
            ),
        ],
        graphs=[
            Graph(title="Nodes that do not start", metrics=[source.metric(name, "Sum") for name in _LAUNCH_ERRORS]),
            Graph(title="Nodes whose set-up fails", metrics=[source.metric(name, "Sum") for name in _BOOTSTRAP_ERRORS]),
            Graph(title="Nodes that Slurm or EC2 loses", metrics=[source.metric(name, "Sum") for name in _NODE_ERRORS]),
            Graph(title="Longest idle time of a dynamic node, seconds", metrics=[idle]),
        ],
    )
