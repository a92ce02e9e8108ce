"""What of an environment can be stopped, read from its cloud assembly."""

from collections.abc import Iterator, Mapping
from typing import Any

from slipway.assembly.stacks import CLUSTER_TYPE, Stack
from slipway_pause.environment import Targets

_DAEMON = "DAEMON"
"""Scheduling of services with a task on each host, such as watchers: those go with their hosts."""


def read_targets(stacks: tuple[Stack, ...]) -> Targets:
    """Return the names of what can be stopped.

    Args:
        stacks: the stacks of one assembly.
    """
    return Targets(
        slurm_clusters=tuple(properties["ClusterName"] for properties in _all(stacks, CLUSTER_TYPE)),
        kubernetes_clusters=tuple(properties["Name"] for properties in _all(stacks, "AWS::EKS::Cluster")),
        services=tuple(service for stack in stacks for service in _services(stack)),
    )


def _services(stack: Stack) -> Iterator[str]:
    """Yield the services of a stack, which has one ECS cluster at most."""
    for cluster in _all((stack,), "AWS::ECS::Cluster"):
        for properties in _all((stack,), "AWS::ECS::Service"):
            if properties.get("SchedulingStrategy") != _DAEMON:
                yield f"{cluster['ClusterName']}/{properties['ServiceName']}"


def _all(stacks: tuple[Stack, ...], resource_type: str) -> Iterator[Mapping[str, Any]]:
    for stack in stacks:
        for resource in stack.template.get("Resources", {}).values():
            if resource["Type"] == resource_type:
                yield resource["Properties"]
