"""Instance types that Slipway uses, and what is equal for a whole family of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from slipway.facts.quotas import quota
from slipway.facts.rows import FrozenList, Row, Text, find, load_rows

UsageClass = Literal["on-demand", "spot", "capacity-block"]
Architecture = Literal["x86_64", "arm64"]
_Count = Annotated[int, Field(ge=0)]
_PositiveCount = Annotated[int, Field(ge=1)]

# Family, generation, processor and further options, size: EC2 instance types guide, "Amazon EC2 instance type naming
# conventions". Bare metal is left out: it boots for a quarter of an hour, and nothing here was tried on it.
_NAME = re.compile(r"([a-z]+)[0-9]+([a-z-]*)\.(nano|micro|small|medium|large|[0-9]*xlarge)")

# Disk makers' gigabytes, as EC2 states them, against the binary ones that Linux shows.
_BYTES_PER_GB = 1000**3
_BYTES_PER_GIB = 1024**3


class InstanceFamily(Row):
    """What all sizes of one instance family share.

    Attributes:
        name: ``trn1``, ``trn1n``, ``trn2``, ``inf2``, or ``cpu`` for every type without an accelerator.
        accelerator: Name of the chip, none for ``cpu``.
        trains: Whether the Neuron SDK is for training on the chip; the others are for inference alone.
        neuron_cores_per_device: Physical NeuronCores on one chip.
        physical_cores_per_logical_core: The Neuron runtime's default for NEURON_LOGICAL_NC_CONFIG: how many physical
            cores a training process sees as one.
        neuron_memory_gib_per_device: High-bandwidth memory of one chip.
        on_demand_quota: Key of the service quota that limits the vCPUs running on demand.
        spot_quota: Key of the service quota that limits the vCPUs of Spot requests.
    """

    name: Text
    accelerator: Text | None
    trains: bool
    neuron_cores_per_device: _Count
    physical_cores_per_logical_core: _PositiveCount
    neuron_memory_gib_per_device: _Count
    on_demand_quota: Text
    spot_quota: Text


class InstanceType(Row):
    """One EC2 instance type.

    Attributes:
        name: For example ``trn1.32xlarge``.
        family: Name of its ``InstanceFamily``.
        vcpus: Virtual CPUs with simultaneous multithreading on; what EC2's quotas count.
        memory_gib: Host memory.
        neuron_devices: Neuron chips, the number of ``/dev/neuron*`` device files.
        network_cards: Network cards; a node gets at least one interface on each.
        efa_interfaces: Elastic Fabric Adapter interfaces at most; 0 means the type has no EFA.
        nvme_volumes: Local NVMe disks.
        nvme_gb: Their size together, in decimal gigabytes as EC2 states it.
        usage_classes: The ways EC2 sells the type. Says nothing about a price or about free capacity.
    """

    name: Text
    family: Text
    vcpus: _PositiveCount
    memory_gib: _PositiveCount
    neuron_devices: _Count = 0
    network_cards: _PositiveCount = 1
    efa_interfaces: _Count = 0
    nvme_volumes: _Count = 0
    nvme_gb: _Count = 0
    usage_classes: FrozenList[UsageClass]

    @property
    def neuron_cores(self) -> int:
        """Physical NeuronCores of all chips."""
        return self.neuron_devices * instance_family(self.family).neuron_cores_per_device

    @property
    def logical_neuron_cores(self) -> int:
        """NeuronCores as the Neuron runtime counts them by default: the number of training processes on a node."""
        return self.neuron_cores // instance_family(self.family).physical_cores_per_logical_core

    @property
    def neuron_memory_gib(self) -> int:
        """High-bandwidth memory of all chips."""
        return self.neuron_devices * instance_family(self.family).neuron_memory_gib_per_device

    @property
    def nvme_gib(self) -> int:
        """Size of all local NVMe disks together, in binary gigabytes, rounded down."""
        return self.nvme_gb * _BYTES_PER_GB // _BYTES_PER_GIB

    @property
    def on_demand(self) -> bool:
        """Whether EC2 sells the type on demand."""
        return "on-demand" in self.usage_classes

    @property
    def spot(self) -> bool:
        """Whether EC2 sells the type as Spot capacity."""
        return "spot" in self.usage_classes

    @property
    def capacity_block(self) -> bool:
        """Whether EC2 sells the type in Capacity Blocks for ML."""
        return "capacity-block" in self.usage_classes

    @property
    def on_demand_quota(self) -> str:
        """Key of the quota on its vCPUs on demand (see ``quota``)."""
        return instance_family(self.family).on_demand_quota

    @property
    def spot_quota(self) -> str:
        """Key of the quota on its vCPUs in Spot requests (see ``quota``)."""
        return instance_family(self.family).spot_quota


@cache
def instance_families() -> Mapping[str, InstanceFamily]:
    """Return every instance family by name."""
    return load_rows(InstanceFamily, "instance_families.yaml")


def instance_family(name: str) -> InstanceFamily:
    """Return one instance family.

    Raises:
        UnknownFact: Slipway knows no such family.
    """
    return find("instance family", name, instance_families())


@cache
def instance_types() -> Mapping[str, InstanceType]:
    """Return every instance type by name."""
    return load_rows(InstanceType, "instance_types.yaml")


def instance_type(name: str) -> InstanceType:
    """Return one instance type.

    Raises:
        UnknownFact: Slipway knows no such type; the error names similar ones.
    """
    return find("instance type", name, instance_types())


def unpriced_architecture(name: str) -> Architecture | None:
    """Return the processor architecture of a CPU instance type that has no row: its name says it, and no more.

    CPU types are those of EC2's quota on Standard instances; all others have accelerators or a quota of their own.

    Returns:
        ``arm64`` where the first letter behind the generation is the ``g`` of Graviton, and for ``a1``; else
        ``x86_64``. None for a type with a row, and for what is not a CPU type's name.
    """
    parts = _NAME.fullmatch(name)
    if name in instance_types() or parts is None:
        return None
    family, options, _ = parts.groups()
    if family not in quota(instance_family("cpu").on_demand_quota).instance_letters:
        return None
    return "arm64" if options.startswith("g") or family == "a" else "x86_64"


class Devices(NamedTuple):
    """What of an instance type a set-up depends on."""

    neuron_devices: int
    efa_interfaces: int
    network_cards: int
    nvme_volumes: int


def devices(name: str) -> Devices:
    """Return the devices of an instance type; of a CPU type without a row one network card, and nothing else.

    A second card have 23 of the largest of 1,068 such types (EC2 DescribeInstanceTypes, as shipped in moto 5.2.5).

    Raises:
        UnknownFact: Slipway knows no such type, and its name is not a CPU type's.
    """
    if unpriced_architecture(name):
        return Devices(neuron_devices=0, efa_interfaces=0, network_cards=1, nvme_volumes=0)
    row = instance_type(name)
    return Devices(row.neuron_devices, row.efa_interfaces, row.network_cards, row.nvme_volumes)
