"""What rules say about instance types: unknown ones, and where EC2 offers the others."""

from collections.abc import Iterable, Iterator

from slipway import facts
from slipway.config.problems import Finding, Path, listed, near_names, shown
from slipway.facts import InstanceType

# Instance types all look alike: p4d.24xlarge is not a misspelled inf2.24xlarge.
_LIKENESS = 0.8
_SUCH_AS = "m6i.2xlarge"


def serving_types() -> list[InstanceType]:
    """Return the instance types that an inference engine runs on."""
    families = {family for engine in facts.inference_engines().values() for family in engine.instance_families}
    return [row for row in facts.instance_types().values() if row.family in families]


def plain_types() -> list[InstanceType]:
    """Return the instance types without accelerator."""
    return [row for row in facts.instance_types().values() if not row.neuron_devices]


def node_types() -> list[InstanceType]:
    """Return the instance types that a queue may have: those that train, and those without accelerator."""
    return [row for row in facts.instance_types().values() if not row.neuron_devices or trains(row)]


def trains(instance_type: InstanceType) -> bool:
    """Return whether the Neuron SDK is for training on the chips of an instance type."""
    return facts.instance_family(instance_type.family).trains


def unknown_type(
    path: Path, name: str, suitable: Iterable[InstanceType], *, any_cpu_type: bool = False
) -> Iterator[Finding]:
    """Yield a finding when the facts have no such instance type; it names the suitable ones.

    Args:
        path: Field with the instance type.
        name: The instance type.
        suitable: Those that may stand there.
        any_cpu_type: Whether a CPU type without facts may, too, as long as its processor is of the images' kind.
    """
    architecture = facts.unpriced_architecture(name) if any_cpu_type else None
    if architecture == "arm64":
        message = f"{name} has an arm64 processor, and the images of all nodes are for x86_64"
        yield Finding(path, message, f"Write a type with a processor of Intel or AMD, such as {_SUCH_AS}.")
    elif architecture is None and name not in facts.instance_types():
        possible = [row.name for row in suitable]
        family, _, size = name.lower().partition(".")
        of_family = [other for other in possible if other.startswith(f"{family}.")]
        # A name alone looks like many others: p5.48xlarge has a GPU, it is not a misspelled m5.8xlarge.
        alike = [other for other in possible if other[:1] == family[:1] and other.endswith(f".{size}")]
        meant = f"Write {listed(of_family)}." if of_family else near_names(name, alike, likeness=_LIKENESS)
        yield Finding(
            path, f"Slipway does not know the instance type {shown(name)}", meant or f"Write {listed(possible)}."
        )


def unpriced_type(path: Path, name: str) -> Iterator[Finding]:
    """Yield a notice of a CPU type without facts."""
    if facts.unpriced_architecture(name):
        message = f"Slipway has no facts about {name}: no sum has its price, and its memory and zones are not checked"
        yield Finding(path, message, "Ask EC2 before you deploy: `slipway preflight`, PF04 to PF06.")


def not_offered(path: Path, name: str, region: str, zones: tuple[str, ...]) -> Iterator[Finding]:
    """Yield a finding when none of the zones offers an instance type.

    Args:
        path: Field with the instance type.
        name: The instance type.
        region: Region of the zones.
        zones: Zone ids of which one must offer it. Where the region has none of them, which is another rule's finding,
            the region itself must.

    Raises:
        UnknownFact: There are no facts about the instance type or the region.
    """
    instance_type = facts.instance_type(name)
    in_region = set(zones) & set(facts.region(region).availability_zone_ids)
    offered = facts.offered_zone_ids(name, region)
    if offered.isdisjoint(zones) and (in_region or not offered):
        elsewhere = facts.offering_regions(name)
        row = elsewhere.get(region) or next(iter(elsewhere.values()), instance_type)
        yield Finding(
            path,
            f"{name} is not offered in {listed(dict.fromkeys(zones)) if in_region else region} (facts of {row.as_of})",
            f"Zones of {region} with it: {listed(sorted(offered), 'and')}."
            if offered
            else f"Regions with it: {listed(sorted(elsewhere), 'and') or 'none'}.",
        )


def not_sold(path: Path, name: str, capacity_type: str, whose: str) -> Iterator[Finding]:
    """Yield a finding when EC2 does not sell an instance type in the way that a queue or a node group asks for.

    Args:
        path: Field with the instance type.
        name: The instance type.
        capacity_type: `on_demand`, `spot` or `capacity_block`.
        whose: Whose `capacity_type` it is, for example `the queue's`.

    Raises:
        UnknownFact: There are no facts about the instance type.
    """
    if facts.unpriced_architecture(name):
        if capacity_type == "capacity_block":
            message = f"EC2 sells types with accelerators in Capacity Blocks, not {name}"
            yield Finding(path, message, f"Set {whose} capacity_type to on_demand or spot.")
        return
    instance_type = facts.instance_type(name)
    sold = [usage_class.replace("-", "_") for usage_class in instance_type.usage_classes]
    if capacity_type not in sold:
        message = f"{name} is not sold as {capacity_type} (facts of {instance_type.as_of})"
        yield Finding(path, message, f"Set {whose} capacity_type to {listed(sold)}.")


def no_efa(path: Path, name: str, *, efa: bool | None) -> Iterator[Finding]:
    """Yield a finding when EFA is asked for and an instance type does not have it; `path` is the field `efa`."""
    if efa and not facts.devices(name).efa_interfaces:
        row = facts.instance_types().get(name)
        message = f"{name} has no EFA (facts of {row.as_of})" if row else f"Slipway has no facts about EFA of {name}"
        yield Finding(path, message, "Remove this line, or take a type with EFA such as trn1.32xlarge.")


def unused_efa(path: Path, name: str, *, efa: bool | None, nodes: int) -> Iterator[Finding]:
    """Yield a finding when several nodes train over several network cards without EFA; `path` is the field `efa`."""
    instance_type = facts.instance_type(name)
    several_cards = instance_type.neuron_devices and instance_type.network_cards > 1
    if efa is False and several_cards and nodes > 1:
        message = f"{nodes} nodes would not use the {instance_type.efa_interfaces} EFA interfaces of each"
        yield Finding(path, message, "Remove this line, or write `max_count: 1`.")
