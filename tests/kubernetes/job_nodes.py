"""An environment on Kubernetes with every type that trains in one Region, and its nodes as a scheduler sees them.

What a node has is from the facts, its labels, taints and EFA interfaces from what the template says of its group.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

from slipway import facts
from slipway.config import Environment
from slipway.config.kubernetes import Kubernetes, NodeGroup
from slipway_jobs.environment import Environment as JobEnvironment
from slipway_stacks.settings.job_environment import kubernetes_job_environment
from slipway_stacks.storage import StorageStack
from tests.config.files import load
from tests.kubernetes.scheduling import Node
from tests.kubernetes_node_group_stack import Built, node_groups

MOST_NODES = 32
"""Nodes of a group with EFA; the largest recipe wants as many."""

CPU_TYPE = "m6i.8xlarge"

_REGION, _ZONE, _OTHER_ZONE = "us-east-2", "use2-az3", "use2-az1"
_MEBIBYTE = 2**20
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}


def types_of(stack: str) -> list[str]:
    """Return the instance types in the Region that a training stack trains on."""
    families = facts.training_stack(stack).instance_families
    offered = [row for row in facts.instance_types().values() if _ZONE in facts.offered_zone_ids(row.name, _REGION)]
    return [row.name for row in offered if row.family in families and facts.instance_family(row.family).trains]


@cache
def environment_of(stack: str, launcher: str) -> Environment:
    """Return an environment that every rule allows, with a node group of each type, and CPU nodes."""
    values = {
        "name": "scheduling",
        "region": _REGION,
        "network": {"training_availability_zone_id": _ZONE, "other_availability_zone_ids": [_OTHER_ZONE]},
        "storage": {"lustre": {"capacity_gib": 4800, "throughput_mb_s_per_tib": 125}},
        "kubernetes": {
            "training_stack": stack,
            "launcher": launcher,
            "node_groups": [
                *(_group(stack, name) for name in types_of(stack)),
                {"name": "cpu", "instance_type": CPU_TYPE, "max_count": 2},
            ],
        },
    }
    with TemporaryDirectory() as directory:
        return load(Path(directory), values)


def _group(stack: str, instance_type: str) -> dict[str, Any]:
    """Without an EFA installer for the training image, nodes are alone."""
    efa = (
        facts.instance_type(instance_type).efa_interfaces > 0 and facts.training_stack(stack).efa_installer is not None
    )
    name = instance_type.replace(".", "-")
    return {"name": name, "instance_type": instance_type, "efa": efa, "max_count": MOST_NODES if efa else 1}


def cluster_of(environment: Environment) -> Kubernetes:
    """Return the environment's cluster."""
    assert environment.kubernetes
    return environment.kubernetes


def job_environment_of(environment: Environment) -> JobEnvironment:
    """Return what the job kit knows of an environment; of the storage it knows only the buckets' names."""
    bucket = SimpleNamespace(bucket_name="bucket")
    storage = cast(StorageStack, SimpleNamespace(data_bucket=bucket, checkpoint_bucket=bucket, model_bucket=bucket))
    content = kubernetes_job_environment(environment, cluster_of(environment), storage, image="slipway:test", team=None)
    return JobEnvironment.model_validate_json(json.dumps(content))


def nodes_of(environment: Environment, counts: Mapping[str, int]) -> list[Node]:
    """Return nodes of several node groups.

    Args:
        environment: The environment.
        counts: How many, by the group's name.
    """
    groups = {group.name: group for group in cluster_of(environment).node_groups}
    return [_node(f"{name}-{number}", groups[name]) for name, count in counts.items() for number in range(count)]


def _node(name: str, group: NodeGroup) -> Node:
    built = _built(group.name, group.instance_type, group.uses_efa)
    node = Node(
        name,
        dict(_allocatable(group.instance_type, built)),
        {
            **built.group["Labels"],
            "node.kubernetes.io/instance-type": group.instance_type,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        },
        [
            {"key": taint["Key"], "value": taint["Value"], "effect": _EFFECTS[taint["Effect"]]}
            for taint in built.group["Taints"]
        ],
    )
    for pod in facts.daemon_pods().values():
        if pod.runs_on(group.instance_type):
            node.place({"cpu": Decimal(pod.cpu_millicores) / 1000, "memory": Decimal(pod.memory_mib * _MEBIBYTE)})
    return node


def _allocatable(instance_type: str, built: Built) -> Iterator[tuple[str, Decimal]]:
    row = facts.kubernetes_node(instance_type)
    yield "cpu", Decimal(row.cpu_millicores) / 1000
    yield "memory", Decimal(row.memory_mib * _MEBIBYTE)
    yield "pods", Decimal(row.pods)
    # The device plugins advertise what they find: chips, and interfaces with EFA.
    yield "aws.amazon.com/neuron", Decimal(facts.instance_type(instance_type).neuron_devices)
    interfaces = built.template["NetworkInterfaces"]
    efa = [one for one in interfaces if str(one.get("InterfaceType", "")).startswith("efa")]
    yield "vpc.amazonaws.com/efa", Decimal(len(efa))


@cache
def _built(name: str, instance_type: str, efa: bool) -> Built:
    return node_groups({name: {"instance_type": instance_type, "efa": efa}})[name]
