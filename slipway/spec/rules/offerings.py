"""What rules say about instance types: unknown ones, and where EC2 offers the others."""

from collections.abc import Iterable, Iterator

from slipway import facts
from slipway.facts import InstanceType
from slipway.spec.problems import Finding, Path, listed, near_names, shown

# Instance types all look alike: p4d.24xlarge is no misspelled inf2.24xlarge.
_LIKENESS = 0.8


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
    """Tell whether the Neuron SDK is for training on the chips of an instance type."""
    return facts.instance_family(instance_type.family).trains


def unknown_type(path: Path, name: str, suitable: Iterable[InstanceType]) -> Iterator[Finding]:
    """Yield a finding when the facts have no such instance type; it names the suitable ones."""
    if name not in facts.instance_types():
        possible = [row.name for row in suitable]
        fix = near_names(name, possible, likeness=_LIKENESS) or f"Write {listed(possible)}."
        yield Finding(path, f"there are no facts about an instance type {shown(name)}", fix)


def not_offered(path: Path, name: str, region: str, zones: tuple[str, ...]) -> Iterator[Finding]:
    """Yield a finding when none of the zones offers an instance type.

    Args:
        path: Field with the instance type.
        name: The instance type.
        region: Region of the zones.
        zones: Zone ids of which one must offer it. Zones that the region does not have are another rule's.

    Raises:
        UnknownFact: There are no facts about the instance type or the region.
    """
    instance_type = facts.instance_type(name)
    if not set(zones) & set(facts.region(region).availability_zone_ids):
        return
    offered = facts.offered_zone_ids(name, region)
    if offered.isdisjoint(zones):
        elsewhere = facts.offering_regions(name)
        row = elsewhere.get(region) or next(iter(elsewhere.values()), instance_type)
        yield Finding(
            path,
            f"{name} is not offered in {listed(dict.fromkeys(zones))} (facts of {row.as_of})",
            f"Zones of {region} with it: {listed(sorted(offered), 'and')}."
            if offered
            else f"Regions with it: {listed(sorted(elsewhere), 'and') or 'none'}.",
        )
