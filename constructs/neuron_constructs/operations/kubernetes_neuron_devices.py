"""Neuron devices and EFA of a Kubernetes cluster: what they do, and when jobs fail on them.

Neuron Monitor and the CloudWatch agent of the add-on amazon-cloudwatch-observability send the metrics; names and
dimensions as in `kubernetes_cluster`. Counters arrive as what was added since the last time
(plugins/processors/gpuattributes/internal/awsneuron_metric_modifier.go of aws/amazon-cloudwatch-agent 1.300067).
"""

from aws_cdk import aws_cloudwatch as cloudwatch

from neuron_constructs.operations.kubernetes_cluster import INSIGHTS
from neuron_constructs.operations.metrics import FIVE_MINUTES, Source, Statistic
from neuron_constructs.operations.watch import Graph, WatchedPart, error_alarms

_ERRORS = {
    "node_neuron_execution_errors_total": (
        "KubernetesNeuronErrors",
        "Executions on NeuronCores ended in errors: the job fails or its results are wrong. The job's log says whether "
        "the model or the hardware is at fault. For hardware, `kubectl describe node` shows AcceleratedHardwareReady, "
        "EKS replaces the node where auto_repair is on, and the run goes on from its last checkpoint; tell AWS Support "
        "the instance id when it comes again.",
    ),
}
"""Metric -> name of the alarm, what it means."""

# No alarm on it: it counts corrected errors too. Those that cannot be corrected are found by EKS's monitoring agent.
_MEMORY_ERRORS = "node_neurondevice_hw_ecc_events_total"

_EFA_TRAFFIC = ("node_efa_rdma_read_bytes", "node_efa_rdma_write_bytes", "node_efa_rx_bytes", "node_efa_tx_bytes")

_EFA_TROUBLE = ("node_efa_rx_dropped", "node_efa_retrans_timeout_events", "node_efa_unresponsive_remote_events")


def watch_kubernetes_neuron_devices(cluster_name: str) -> WatchedPart:
    """Return what is watched of the Neuron devices of a Kubernetes cluster, and of the network between them.

    Args:
        cluster_name: name of the EKS cluster.
    """
    source = Source(INSIGHTS, {"ClusterName": cluster_name})
    return WatchedPart(
        title="Neuron devices in Kubernetes",
        alarms=error_alarms(source, _ERRORS),
        graphs=[
            Graph(
                title="NeuronCore utilisation by node, percent",
                metrics=[_by_node(cluster_name, "node_neuroncore_utilization", "Average")],
            ),
            Graph(
                title="Device memory of the fullest NeuronCore by node, bytes",
                metrics=[_by_node(cluster_name, "node_neuroncore_memory_usage_total", "Maximum")],
            ),
            Graph(
                title="Execution errors, and memory errors (corrected ones too)",
                metrics=[source.metric(name, "Sum") for name in (*_ERRORS, _MEMORY_ERRORS)],
            ),
            Graph(title="EFA traffic, bytes", metrics=[source.metric(name, "Sum") for name in _EFA_TRAFFIC]),
            Graph(title="EFA trouble", metrics=[source.metric(name, "Sum") for name in _EFA_TROUBLE]),
        ],
    )


def _by_node(cluster_name: str, name: str, statistic: Statistic) -> cloudwatch.MathExpression:
    """One line for each node that sends the metric."""
    search = f'{{{INSIGHTS},ClusterName,InstanceId,NodeName}} MetricName="{name}" ClusterName="{cluster_name}"'
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{search}', '{statistic}')", label="${PROP('Dim.NodeName')}", period=FIVE_MINUTES
    )
