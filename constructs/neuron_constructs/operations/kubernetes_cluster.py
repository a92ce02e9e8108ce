"""A Kubernetes cluster: nodes that fail or are missing, pods that find no node or do not start.

Namespace `ContainerInsights`: the CloudWatch agent sends it from the cluster, each metric once for the cluster and once
for each node or pod (names and dimensions: translator/translate/otel/exporter/awsemf/kubernetes.go of
aws/amazon-cloudwatch-agent 1.300067, and "Enhanced Container Insights (Classic) metric reference" in the CloudWatch
user guide). Namespace `AWS/EKS`: EKS sends it once a minute for every cluster ("Monitor cluster data with Amazon
CloudWatch" in the EKS user guide).
"""

from collections.abc import Iterator

from neuron_constructs.operations.metrics import ONE_MINUTE, Source
from neuron_constructs.operations.watch import Alarm, Graph, WatchedPart

INSIGHTS = "ContainerInsights"
"""Where the CloudWatch agent of a cluster sends its metrics."""

_FIVE_MINUTE_PERIODS_OF_AN_HOUR = 12

_FAILED_NODES = "cluster_failed_node_count"

_WAITING_PODS = "scheduler_pending_pods_UNSCHEDULABLE"

_API_TROUBLE = ("apiserver_request_total_429", "apiserver_request_total_5XX")

_FULLEST_NODE = ("node_cpu_utilization", "node_memory_utilization", "node_filesystem_utilization")


def watch_kubernetes_cluster(cluster_name: str, core_min_count: int) -> WatchedPart:
    """Return what is watched of a cluster, apart from its Neuron devices.

    Args:
        cluster_name: name of the EKS cluster.
        core_min_count: core nodes that always run.
    """
    insights = Source(INSIGHTS, {"ClusterName": cluster_name})
    control_plane = Source("AWS/EKS", {"ClusterName": cluster_name})
    return WatchedPart(
        title="Kubernetes cluster",
        alarms=[
            *_node_alarms(insights, core_min_count),
            *_pod_alarms(insights, control_plane),
        ],
        graphs=[
            Graph(
                title="Nodes, and those that fail",
                metrics=[insights.metric(name, "Maximum") for name in ("cluster_node_count", _FAILED_NODES)],
            ),
            Graph(
                title="Pods that run, and pods that wait for a node",
                # Both are sent once a minute: a longer period would add them up.
                metrics=[
                    insights.metric("cluster_number_of_running_pods", "Maximum", period=ONE_MINUTE),
                    control_plane.metric(_WAITING_PODS, "Sum", period=ONE_MINUTE),
                ],
            ),
            Graph(
                title="CPU, memory and disk of the fullest node, percent",
                metrics=[insights.metric(name, "Maximum") for name in _FULLEST_NODE],
            ),
            Graph(
                title="Kubernetes API: requests that were too many, and that failed",
                metrics=[control_plane.metric(name, "Sum") for name in _API_TROUBLE],
            ),
        ],
    )


def _node_alarms(insights: Source, core_min_count: int) -> Iterator[Alarm]:
    yield Alarm(
        name="KubernetesNodesMissing",
        metric=insights.metric("cluster_node_count", "Maximum"),
        fires="below",
        threshold=core_min_count,
        periods=6,
        silence="ends",
        means="The cluster has had fewer nodes than kubernetes.core_nodes.min_count for half an hour, or (state "
        "INSUFFICIENT_DATA) the CloudWatch agent counts them no more. The node group's health issues in the EKS "
        "console say why nodes do not start; `kubectl get pods --all-namespaces` shows what does not run.",
    )
    yield Alarm(
        name="KubernetesNodesFailed",
        metric=insights.metric(_FAILED_NODES, "Maximum"),
        fires="above",
        threshold=0,
        periods=3,
        means="A node is not healthy. `kubectl describe node` names the condition. EKS replaces nodes of groups with "
        "auto_repair; when new ones fail too, look at their kernel and kubelet logs in the log groups "
        "/aws/containerinsights/<cluster>/host and /dataplane.",
    )


def _pod_alarms(insights: Source, control_plane: Source) -> Iterator[Alarm]:
    yield Alarm(
        name="KubernetesPodsWithoutNode",
        metric=control_plane.metric(_WAITING_PODS, "Sum"),
        fires="above",
        threshold=0,
        periods=_FIVE_MINUTE_PERIODS_OF_AN_HOUR,
        means="Pods have waited for a node for an hour. `kubectl get pods --all-namespaces "
        "--field-selector=status.phase=Pending` shows which, `kubectl describe pod` why: other runs hold the nodes, "
        "EC2 has no capacity, a quota is reached, or the pod asks for more than a node has.",
    )
    yield Alarm(
        name="KubernetesPodsCrash",
        metric=insights.metric("pod_container_status_waiting_reason_crash_loop_back_off", "Maximum"),
        fires="above",
        threshold=0,
        periods=3,
        means="A container starts and ends again and again. `kubectl get pods --all-namespaces` shows it as "
        "CrashLoopBackOff, `kubectl logs --previous` its last words. In kube-system or amazon-cloudwatch it is "
        "something that every run needs.",
    )
    yield Alarm(
        name="KubernetesImagesNotPulled",
        metric=insights.metric("pod_container_status_waiting_reason_image_pull_error", "Maximum"),
        fires="above",
        threshold=0,
        periods=_FIVE_MINUTE_PERIODS_OF_AN_HOUR,
        means="An image could not be pulled for an hour. `kubectl describe pod` names it. If it is the training image, "
        "its build in CodeBuild failed or still runs; for others, look at NAT and the node role.",
    )
