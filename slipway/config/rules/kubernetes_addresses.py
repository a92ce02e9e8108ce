"""What the Kubernetes cluster takes of a subnet's addresses."""

from slipway.config.environment import Environment

# Amazon EKS user guide, VPC and subnet requirements: each of the cluster's subnets needs 6 free ones, 16 are advised.
_CONTROL_PLANE_ADDRESSES = 16
NODE_ADDRESSES = 1 + 10
"""Addresses of a node: its own, and those that the VPC CNI keeps for pods; interfaces for EFA alone have none."""


def kubernetes_addresses(environment: Environment) -> dict[str, int]:
    """Count the addresses of the training zone's private subnet, by what takes them; nothing without a cluster.

    Core nodes spread over the zones; at worst all of them are in this one.
    """
    cluster = environment.kubernetes
    if cluster is None:
        return {}
    nodes = cluster.core_nodes.max_count + sum(group.max_count for group in cluster.node_groups)
    return {"Kubernetes nodes and their pods": nodes * NODE_ADDRESSES, "the Kubernetes API": _CONTROL_PLANE_ADDRESSES}
