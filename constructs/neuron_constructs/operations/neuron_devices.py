"""Neuron devices: what they do, and when one is broken. The node set-up sends the metrics (docs/health.md)."""

from aws_cdk import aws_cloudwatch as cloudwatch

from neuron_constructs.operations.metrics import FIVE_MINUTES, ONE_MINUTE, Source, Statistic
from neuron_constructs.operations.watch import Graph, WatchedPart, error_alarms

NAMESPACE = "Slipway/Neuron"
"""Where the nodes send them, each once for the cluster and once for its queue."""

_BROKEN = {
    "HardwareErrors": (
        "NeuronHardwareErrors",
        "Executions on NeuronCores ended in hardware errors: the job fails or its results are wrong. Drain the node "
        "(`scontrol update nodename=<node> state=drain reason=hardware`), let the job restart from its last "
        "checkpoint, and tell AWS Support the instance id.",
    ),
    "UncorrectableEccEvents": (
        "NeuronMemoryErrors",
        "Memory of a Neuron device had errors that cannot be corrected. Drain the node (`scontrol update "
        "nodename=<node> state=drain reason=ecc`), let the job restart from its last checkpoint, and tell AWS Support "
        "the instance id.",
    ),
    "DrainedNodes": (
        "NodesDrained",
        "The health check drained a node, and ParallelCluster replaces it. `sinfo -R` names the reason while the node "
        "is there, the cluster's log group later (`slipway docs health`). When new nodes have it too, look at their "
        "set-up.",
    ),
}
"""Metric -> name of the alarm, what it means."""


def watch_neuron_devices(cluster_name: str) -> WatchedPart:
    """Return what is watched of the Neuron devices of a cluster.

    Args:
        cluster_name: name of the cluster.
    """
    source = Source(NAMESPACE, {"ClusterName": cluster_name})
    return WatchedPart(
        title="Neuron devices",
        alarms=error_alarms(source, _BROKEN),
        graphs=[
            Graph(
                title="Nodes that report, by queue",
                # A node sends one sample in a minute: a longer period would count it again.
                metrics=[_by_queue(cluster_name, "NeuronDevices", "SampleCount").with_(period=ONE_MINUTE)],
            ),
            Graph(
                title="NeuronCore utilisation by queue, percent",
                metrics=[_by_queue(cluster_name, "NeuronCoreUtilization", "Average")],
            ),
            Graph(
                title="NeuronCores in use",
                metrics=[source.metric("NeuronCoresInUse", "Sum", period=ONE_MINUTE)],
            ),
            Graph(
                title="Device memory by queue, percent of the fullest node",
                metrics=[_by_queue(cluster_name, "DeviceMemoryUtilization", "Maximum")],
            ),
            Graph(
                title="Host memory by queue, percent of the fullest node",
                metrics=[_by_queue(cluster_name, "HostMemoryUtilization", "Maximum")],
            ),
            Graph(
                title="Errors and drained nodes",
                metrics=[source.metric(name, "Sum") for name in ("ExecutionErrors", *_BROKEN)],
            ),
        ],
    )


def _by_queue(cluster_name: str, name: str, statistic: Statistic) -> cloudwatch.MathExpression:
    """One line for each queue that sends the metric."""
    search = f'{{{NAMESPACE},ClusterName,Queue}} MetricName="{name}" ClusterName="{cluster_name}"'
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{search}', '{statistic}')", label="${PROP('Dim.Queue')}", period=FIVE_MINUTES
    )
