"""The inference endpoint: its load balancer, and each model behind it."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from neuron_constructs.inference.endpoint import Endpoint
from neuron_constructs.inference.firewall import Firewall
from neuron_constructs.operations.metrics import FIVE_MINUTES, Source
from neuron_constructs.operations.served_model import WatchedModel, model_metrics
from neuron_constructs.operations.served_model_alarms import model_alarms
from neuron_constructs.operations.served_model_graphs import model_graphs
from neuron_constructs.operations.watch import Alarm, Graph, WatchedPart

_FIVE_MINUTE_PERIODS_OF_AN_HOUR = 12


def watch_inference_endpoint(
    endpoint: Endpoint, models: Sequence[WatchedModel], *, node_problems: cloudwatch.Metric
) -> list[WatchedPart]:
    """Return what is watched of an endpoint: the load balancer and the hosts, then each model.

    Args:
        endpoint: the load balancer.
        models: the models behind it.
        node_problems: how often the node problem detector found an error on a host.
    """
    # The L2's own metrics cut the load balancer's name out of the listener's ARN with Fn::Split, which takes no
    # reference to another stack.
    load_balancer = Source("AWS/ApplicationELB", {"LoadBalancer": endpoint.load_balancer.load_balancer_full_name})
    return [
        _watch_load_balancer(
            load_balancer, endpoint.firewall, node_problems.with_(period=FIVE_MINUTES, label="errors")
        ),
        *(_watch_model(load_balancer, model) for model in models),
    ]


def _watch_load_balancer(
    load_balancer: Source, firewall: Firewall | None, node_problems: cloudwatch.Metric
) -> WatchedPart:
    return WatchedPart(
        title="Inference endpoint",
        alarms=[
            Alarm(
                name="EndpointUnreachable",
                metric=load_balancer.metric("HTTPCode_ELB_5XX_Count", "Sum"),
                fires="above",
                threshold=10,
                periods=2,
                means="The load balancer finds no engine to ask, or gets no answer: no version is rolled out, a "
                "schedule has ended all tasks, or tasks are unhealthy (see the models' alarms).",
            ),
            Alarm(
                name="EndpointNodeProblems",
                metric=node_problems,
                fires="above",
                threshold=0,
                periods=1,
                among=_FIVE_MINUTE_PERIODS_OF_AN_HOUR,
                means="The Neuron driver of a host reported an error that does not go away. The recovery marks the "
                "host unhealthy and the Auto Scaling group replaces it; the log streams `detector/` name the error.",
            ),
        ],
        graphs=[
            Graph(title="Endpoint: requests", metrics=[load_balancer.metric("RequestCount", "Sum")]),
            Graph(
                title="Endpoint: answers of the load balancer itself",
                metrics=[load_balancer.metric(f"HTTPCode_ELB_{kind}_Count", "Sum") for kind in ("3XX", "4XX", "5XX")],
            ),
            *([_refused(firewall)] if firewall else []),
            Graph(title="Endpoint: open connections", metrics=[load_balancer.metric("ActiveConnectionCount", "Sum")]),
            Graph(title="Endpoint: Neuron errors that the node problem detector found", metrics=[node_problems]),
        ],
    )


def _watch_model(load_balancer: Source, model: WatchedModel) -> WatchedPart:
    metrics = model_metrics(load_balancer, model)
    return WatchedPart(
        title=f"Model {model.name}", alarms=model_alarms(metrics, model), graphs=model_graphs(metrics, model)
    )


def _refused(firewall: Firewall) -> Graph:
    of_region = {"Region": cdk.Stack.of(firewall).region}
    # All rules together; the firewall's log names the rule of each request.
    refused = Source("AWS/WAFV2", {"WebACL": firewall.metric_name, "Rule": "ALL", **of_region})
    return Graph(
        title="Endpoint: requests that the firewall refused", metrics=[refused.metric("BlockedRequests", "Sum")]
    )
