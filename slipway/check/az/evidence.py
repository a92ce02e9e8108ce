"""What is known about the zones of a Region, and who said it."""

from dataclasses import dataclass, field

from slipway import facts
from slipway.check.az.wanted import Wanted


@dataclass(frozen=True)
class Zone:
    """What is known about one zone.

    Attributes:
        id: for example `usw2-az4`.
        offered: instance types that EC2 offers there.
        reservations: capacity reservations that the environment names and that are there.
        file_systems: kinds of file system of which the account has one there: proof that FSx builds them there.
        spot_usd: the last Spot price of an hour, by instance type.
        blocks: the cheapest offer of a Capacity Block, in words, by instance type.
        refused_by_eks: whether EKS refuses a cluster with a subnet there.
    """

    id: str
    offered: frozenset[str]
    reservations: tuple[str, ...] = ()
    file_systems: frozenset[str] = frozenset()
    spot_usd: dict[str, float] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    refused_by_eks: bool = False


@dataclass(frozen=True)
class Evidence:
    """What is known about all zones.

    Attributes:
        source: who said it, for the comment in the file: `asked AWS`, or the date of the facts.
        zones: the zones of the Region, by id.
        notes: what could not be found out, a sentence each.
        deployed: zones with a subnet of the environment: it is deployed there.
    """

    source: str
    zones: tuple[Zone, ...]
    notes: tuple[str, ...] = ()
    deployed: frozenset[str] = frozenset()


def offline_evidence(wanted: Wanted) -> Evidence:
    """Take the zones and offerings from the facts: hints, which EC2 may have overtaken.

    Raises:
        UnknownFact: the facts do not have the Region.
    """
    region = facts.region(wanted.region)
    zones = tuple(
        Zone(
            id=zone,
            offered=frozenset(
                name for name in wanted.instance_types if zone in facts.offered_zone_ids(name, region.name)
            ),
            refused_by_eks=zone in region.without_eks,
        )
        for zone in region.availability_zone_ids
    )
    note = f"AWS was not asked: offerings are the facts of {region.as_of}, hints that EC2 may have overtaken."
    more = "Reservations, Capacity Blocks and Spot prices are not known offline."
    return Evidence(f"facts of {region.as_of}", zones, (note, more, FILE_SYSTEMS_NOTE))


FILE_SYSTEMS_NOTE = (
    "AWS has no list of the zones where FSx builds a file system: only a file system of your account in that zone "
    "proves it, or creating one."
)
