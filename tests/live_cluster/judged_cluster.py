"""What the real aws-parallelcluster makes of a synthesized environment, as far as a living cluster needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.proceedings import ask_parallelcluster
from tests.assembly import Assembly

_CAPACITY_TYPES = {"ONDEMAND": "on-demand", "SPOT": "spot", "CAPACITY_BLOCK": "capacity-block"}
"""pcluster_fleet_config_generator.py of aws-parallelcluster-cookbook (commit f75d84c), `CAPACITY_TYPE_MAP`."""

NODES_AT_MOST = 4
"""Of each kind in a compute resource: the machine that tests run on has no room for the 1,603 of `ultracluster`."""

_MEMORY_RATIO = 0.95
"""Share of an instance's memory that nodes have without `SchedulableMemory` (config_utils.py there)."""


@dataclass(frozen=True)
class ComputeResource:
    """Nodes of one kind in one queue."""

    queue: str
    name: str
    instance_types: tuple[str, ...]
    static: int
    dynamic: int
    cpus: int
    memory_mib: int
    weight: tuple[int, int]
    """Priority of static and of dynamic nodes."""

    efa: bool
    custom_action: tuple[str, ...]
    """Arguments of node_configured.sh."""

    fleet: Mapping[str, Any]
    """Its part of fleet-config.json, which ParallelCluster's node daemons read."""

    def nodes(self) -> Iterator[tuple[str, str]]:
        """Yield each node's name, with its kind: `static` or `dynamic`."""
        for short, kind, count in (("st", "static", self.static), ("dy", "dynamic", self.dynamic)):
            for number in range(1, count + 1):
                yield f"{self.queue}-{short}-{self.name}-{number}", kind

    def ranges(self) -> Iterator[str]:
        """Yield its nodes as Slurm's configuration names them."""
        for short, count in (("st", self.static), ("dy", self.dynamic)):
            if count:
                yield f"{self.queue}-{short}-{self.name}-[1-{count}]"


@dataclass(frozen=True)
class JudgedCluster:
    """One environment's cluster."""

    assembly: Path
    """The cloud assembly that it was made from."""

    configuration: Mapping[str, Any]
    instance_types: Mapping[str, Any]
    launch_templates: Mapping[str, Mapping[str, Any]]
    """`LaunchTemplateData` by `queue/compute resource`."""

    @cached_property
    def name(self) -> str:
        """The cluster's name."""
        template = next(iter(self.launch_templates.values()))
        tags = {tag["Key"]: tag["Value"] for tag in template["TagSpecifications"][0]["Tags"]}
        return str(tags["parallelcluster:cluster-name"])

    @property
    def region(self) -> str:
        """Its AWS Region."""
        return str(self.configuration["Region"])

    @property
    def queues(self) -> list[Mapping[str, Any]]:
        """The queues of its configuration."""
        return list(self.configuration["Scheduling"]["SlurmQueues"])

    @cached_property
    def compute_resources(self) -> tuple[ComputeResource, ...]:
        """All compute resources, in the order of the configuration."""
        return tuple(self._resource(queue, row) for queue in self.queues for row in queue["ComputeResources"])

    def custom_settings(self) -> dict[str, str]:
        """The lines that our configuration adds to slurm.conf."""
        rows = self.configuration["Scheduling"]["SlurmSettings"]["CustomSlurmSettings"] or []
        return {key: str(value) for row in rows for key, value in row.items()}

    def _resource(self, queue: Mapping[str, Any], row: Mapping[str, Any]) -> ComputeResource:
        types = tuple(item["InstanceType"] for item in row.get("Instances") or [row])
        known = [self.instance_types[name] for name in types]
        memory = min(each["MemoryInfo"]["SizeInMiB"] for each in known)
        target = row["CapacityReservationTarget"] or queue["CapacityReservationTarget"] or {}
        reservation = target.get("CapacityReservationId")
        return ComputeResource(
            queue=queue["Name"],
            name=row["Name"],
            instance_types=types,
            static=min(row["MinCount"], NODES_AT_MOST),
            dynamic=min(row["MaxCount"] - row["MinCount"], NODES_AT_MOST),
            cpus=min(each["VCpuInfo"]["DefaultVCpus"] for each in known),
            memory_mib=row["SchedulableMemory"] or int(memory * _MEMORY_RATIO),
            weight=(row["StaticNodePriority"], row["DynamicNodePriority"]),
            efa=row["Efa"]["Enabled"],
            custom_action=tuple(queue["CustomActions"]["OnNodeConfigured"]["Args"]),
            fleet={
                "Api": "create-fleet" if row.get("Instances") else "run-instances",
                "CapacityType": _CAPACITY_TYPES[queue["CapacityType"]],
                "Instances": [{"InstanceType": name} for name in types],
                **({"CapacityReservationId": reservation} if reservation else {}),
                **({"Networking": {"SubnetIds": queue["Networking"]["SubnetIds"]}} if row.get("Instances") else {}),
            },
        )


def judge_cluster(assembly: Assembly, directory: Path) -> JudgedCluster:
    """Let the real aws-parallelcluster build an environment's cluster, up to the call of CreateStack.

    Args:
        assembly: the synthesized environment.
        directory: an existing folder for request, answer and log.
    """
    outcome = ask_parallelcluster(read_assembly(assembly.directory), directory).outcome
    return JudgedCluster(assembly.directory, outcome.configuration, outcome.instance_types, outcome.launch_templates)
