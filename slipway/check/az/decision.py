"""Which zones to take: the rules, and the reason in words."""

from dataclasses import dataclass
from itertools import combinations

from slipway.check.az.evidence import Evidence, Zone
from slipway.check.az.wanted import Wanted
from slipway.config.problems import listed


@dataclass(frozen=True)
class Decision:
    """The chosen zones.

    Attributes:
        training: zone id of the nodes that train and of the file systems.
        others: ids of the other zones.
        reasons: why, a sentence each.
    """

    training: str
    others: tuple[str, ...]
    reasons: tuple[str, ...]


class NoZoneFitsError(Exception):
    """No choice of zones has everything; the message says what is missing where."""


def decide(wanted: Wanted, evidence: Evidence) -> Decision:
    """Choose the zones.

    A reservation that the environment names pins its zone. Of the choices that have everything, the first of: fewest
    zones without a subnet of an existing VPC; most types with offers of Capacity Blocks, where nodes are bought in
    blocks; the zones that the file names already, for others would replace subnets and file systems; most kinds of file
    system that stand there; most zones that offer what serves; the lowest Spot price; the lowest zone ids.

    Raises:
        NoZoneFitsError: none has everything.
    """
    fitting = [zone for zone in evidence.zones if not obstacles(wanted, evidence, zone)]
    choices = [
        (training, others)
        for training in fitting
        for others in combinations(_possible_others(wanted, evidence, training), wanted.others)
        if _serves(wanted, (training, *others))
    ]
    if not choices:
        raise NoZoneFitsError(_missing(wanted, evidence, fitting))
    training, others = min(choices, key=lambda choice: _rank(wanted, evidence, *choice))
    ids = [zone.id for zone in others]
    # Zones that the file names keep their order: subnets are made in it.
    ordered = sorted(ids, key=lambda zone: (_place(wanted, zone), zone))
    return Decision(training.id, tuple(ordered), tuple(_reasons(wanted, evidence, training, others)))


def obstacles(wanted: Wanted, evidence: Evidence, zone: Zone) -> list[str]:
    """Say why a zone cannot be the training zone; empty when it can."""
    lacking = [name for name in (*wanted.training, *wanted.everywhere) if name not in zone.offered]
    found = [f"no {name}" for name in dict.fromkeys(lacking)]
    if wanted.pinned not in (None, zone.id):
        found.append(f"the file system or a queue names {wanted.pinned}")
    if wanted.kubernetes and zone.refused_by_eks:
        found.append("EKS refuses it")
    for target in wanted.reservations:
        where = [other.id for other in evidence.zones if target in other.reservations]
        if where and zone.id not in where:
            found.append(f"{target} is in {listed(where)}")
    return found


def _possible_others(wanted: Wanted, evidence: Evidence, training: Zone) -> list[Zone]:
    return [
        zone
        for zone in evidence.zones
        if zone is not training
        and not (wanted.kubernetes and zone.refused_by_eks)
        and all(name in zone.offered for name in wanted.everywhere)
    ]


def _serves(wanted: Wanted, zones: tuple[Zone, ...]) -> bool:
    return all(any(name in zone.offered for zone in zones) for name in wanted.serving)


def _rank(wanted: Wanted, evidence: Evidence, training: Zone, others: tuple[Zone, ...]) -> tuple[object, ...]:
    zones = (training, *others)
    changed = sum(zone.id not in wanted.current_others for zone in others)
    serving = sum(name in zone.offered for name in wanted.serving for zone in zones)
    return (
        sum(bool(wanted.lacking_subnets(zone.id)) for zone in zones),
        # Offers come and go: none moves a deployed environment.
        bool(evidence.deployed) and training.id != wanted.current,
        -len(training.blocks),
        training.id != wanted.current,
        changed,
        -sum(kind in training.file_systems for kind in wanted.file_systems),
        -serving,
        # A zone without a price had no Spot capacity lately.
        sum(training.spot_usd.get(name, float("inf")) for name in wanted.spot),
        tuple(zone.id for zone in zones),
    )


def _place(wanted: Wanted, zone: str) -> int:
    named = wanted.current_others
    return named.index(zone) if zone in named else len(named)


def _reasons(wanted: Wanted, evidence: Evidence, training: Zone, others: tuple[Zone, ...]) -> list[str]:
    able = [zone.id for zone in evidence.zones if not obstacles(wanted, evidence, zone)]
    needs = listed(dict.fromkeys((*wanted.training, *wanted.everywhere)), "and")
    elsewhere = f"as in {listed(_but(able, training.id), 'and')}" if len(able) > 1 else "which no other zone has all"
    found = [f"{training.id} offers {needs} ({elsewhere})" if needs else f"{training.id} has nothing against it"]
    if training.reservations:
        found.append(f"it has {listed(training.reservations, 'and')}")
    if training.blocks:
        found.append(f"it has Capacity Blocks of {listed(sorted(training.blocks), 'and')}")
    if training.file_systems:
        found.append(f"{listed(sorted(training.file_systems), 'and')} of this account are there")
    for name in wanted.serving:
        offering = [zone.id for zone in (training, *others) if name in zone.offered]
        found.append(f"{name} is offered in {listed(offering, 'and')}")
    return found


def _but(names: list[str], left_out: str) -> list[str]:
    return [name for name in names if name != left_out]


def _missing(wanted: Wanted, evidence: Evidence, fitting: list[Zone]) -> str:
    if not fitting:
        where = [f"  {zone.id}: {', '.join(obstacles(wanted, evidence, zone))}" for zone in evidence.zones]
        return "\n".join([f"no zone of {wanted.region} has what trains:", *where])
    lines = [f"{listed([zone.id for zone in fitting])} could train, but"]
    for name in wanted.serving:
        offering = [zone.id for zone in evidence.zones if name in zone.offered]
        lines.append(f"  {name} is offered in {listed(offering, 'and') or 'no zone'}")
    each = f", each with {listed(wanted.everywhere, 'and')}" if wanted.everywhere else ""
    lines.append(f"  other zones that are needed: {wanted.others}{each}")
    return "\n".join(lines)
