"""What the cluster autoscaler is told of a node group that has no node to look at."""

from slipway import facts

EFA_RESOURCE = "vpc.amazonaws.com/efa"
"""Kubernetes resource of EFA interfaces, named by the EFA device plugin."""

NEURON_RESOURCE = "aws.amazon.com/neuron"
"""Kubernetes resource of Neuron devices, named by the Neuron device plugin."""

_PREFIX = "k8s.io/cluster-autoscaler/node-template/resources/"


def node_resource_tags(instance: facts.InstanceType, *, efa: bool) -> dict[str, str]:
    """Return tags of a managed node group with what pods can have of one of its nodes.

    The autoscaler reads tags, labels and taints of managed node groups by `eks:DescribeNodegroup` (kubernetes/
    autoscaler, cloudprovider/aws/managed_nodegroup_cache.go). Without these tags it would take all of an instance's CPU
    and memory for free, and would not know of devices: pods that ask for them would never start a node.

    Args:
        instance: the instance type.
        efa: whether the nodes get EFA.

    Raises:
        slipway.facts.UnknownFact: there is no row about what pods can have of the instance type.
    """
    node = facts.kubernetes_node(instance.name)
    resources = {"cpu": f"{node.cpu_millicores}m", "memory": f"{node.memory_mib}Mi"}
    if instance.neuron_devices:
        resources[NEURON_RESOURCE] = str(instance.neuron_devices)
    if efa:
        resources[EFA_RESOURCE] = str(instance.efa_interfaces)
    return {_PREFIX + name: quantity for name, quantity in resources.items()}
