"""Values of the device plugins' charts: they tell Kubernetes of a node's Neuron devices and EFA interfaces."""

from collections.abc import Sequence
from typing import Any

from neuron_constructs.kubernetes.names import NEURON_TAINT, NODE_GROUP_LABEL
from neuron_constructs.kubernetes.software.job_nodes import JobNodes

NEURON_HEALTH_NAMESPACE = "neuron-healthcheck-system"
"""Namespace of the Neuron chart's problem detector (`npd.namespaceOverride`).

A guess, as a precaution: AWS's own guides and examples make it before they install the chart, also one that switches
the detector off (aws-neuron-sdk, deploy/infrastructure/problem-detector-irsa.rst, step 3). The chart's templates are
not public as source.
"""


def neuron_values(node_groups: Sequence[JobNodes]) -> dict[str, Any]:
    """Return the values of the Neuron chart: the device plugin alone.

    Its problem detector would do the work of the EKS node monitoring agent a second time, and its scheduler is for
    pods that share a node. Names of the values: aws-neuron/neuron-helm-charts @2f5072d7, README.md.

    Args:
        node_groups: the node groups of jobs.
    """
    return {
        # The chart's own list falls behind new instance types.
        "neuronInstances": sorted({nodes.instance_type for nodes in node_groups if nodes.neuron_devices}),
        "devicePlugin": {"enabled": True},
        "scheduler": {"enabled": False},
        "npd": {"enabled": False},
        "draDriver": {"enabled": False},
    }


def efa_values(node_groups: Sequence[JobNodes]) -> dict[str, Any]:
    """Return the values of the EFA chart (aws/eks-charts @5239609, stable/aws-efa-k8s-device-plugin).

    Args:
        node_groups: the node groups of jobs.
    """
    return {
        # Not by instance type as the chart would: the plugin fails on a node that could have EFA and has not.
        "supportedInstanceLabels": {
            "keys": [NODE_GROUP_LABEL],
            "values": [nodes.name for nodes in node_groups if nodes.efa_interfaces],
        },
        # Without these it runs on no node of jobs.
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in (NEURON_TAINT, NODE_GROUP_LABEL)
        ],
    }
