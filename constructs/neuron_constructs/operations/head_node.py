"""The head node: without it no node is started or stopped, and no job begins."""

from aws_cdk import aws_cloudwatch as cloudwatch

from neuron_constructs.operations.metrics import ONE_MINUTE, Source
from neuron_constructs.operations.watch import Alarm, Graph, WatchedPart

_FULL_PERCENT = 85
"""Share of a disk or of memory that is told: before ParallelCluster's own alarms at 90, which tell nobody."""


def watch_head_node(cluster_name: str, instance_id: str) -> WatchedPart:
    """Return what is watched of a head node.

    Args:
        cluster_name: name of the cluster.
        instance_id: EC2 instance id of its head node.
    """
    instance = {"InstanceId": instance_id}
    ec2 = Source("AWS/EC2", instance)
    # ParallelCluster configures the CloudWatch agent of the head node; these are all of its dimensions.
    agent = Source("CWAgent", instance)
    disk = agent.metric("disk_used_percent", "Maximum", path="/")
    memory = agent.metric("mem_used_percent", "Maximum")
    return WatchedPart(
        title="Head node",
        alarms=[
            _silent(cluster_name),
            Alarm(
                name="HeadNodeFailed",
                metric=ec2.metric("StatusCheckFailed", "Maximum"),
                fires="above",
                threshold=0,
                periods=2,
                means="The head node's EC2 status check fails. Stop and start the instance in the EC2 console: its "
                "volumes and its address stay, running jobs go on, no new one begins until it is back.",
            ),
            Alarm(
                name="HeadNodeDiskNearlyFull",
                metric=disk,
                fires="above",
                threshold=_FULL_PERCENT,
                periods=3,
                means="The head node's root volume is nearly full; when it is, Slurm loses its state. Log in with "
                "Session Manager and look for what grew: `sudo du -xh --max-depth=2 / | sort -h | tail`.",
            ),
            Alarm(
                name="HeadNodeMemoryNearlyFull",
                metric=memory,
                fires="above",
                threshold=_FULL_PERCENT,
                periods=3,
                means="The head node runs out of memory; the kernel may end slurmctld. Somebody probably builds or "
                "compiles there: `top -o %MEM` shows who. Compile in a job, or on login nodes.",
            ),
        ],
        graphs=[
            Graph(title="Head node: root volume and memory, percent used", metrics=[disk, memory]),
            Graph(title="Head node: CPU, percent", metrics=[ec2.metric("CPUUtilization", "Average")]),
        ],
    )


def _silent(cluster_name: str) -> Alarm:
    """Alarm when ParallelCluster's own daemon has not logged a heartbeat for ten minutes.

    ParallelCluster makes an alarm of that kind too, but it tells nobody, and one of ours on top of it would keep
    CloudWatch from deleting it: the cluster's deletion would fail. The query finds the head node by its cluster.
    """
    schema = '"ParallelCluster", ClusterName, InstanceId'
    return Alarm(
        name="HeadNodeSilent",
        metric=cloudwatch.MathExpression(
            expression=f"SELECT SUM(ClustermgtdHeartbeat) FROM SCHEMA({schema}) WHERE ClusterName = '{cluster_name}'",
            label="heartbeats of the head node",
            period=ONE_MINUTE,
        ),
        fires="below",
        threshold=1,
        periods=10,
        silence="trouble",
        means="The head node's clustermgtd is silent: no node is started or stopped. Log in with Session Manager and "
        "look at /var/log/parallelcluster/clustermgtd; is the root volume full?",
    )
