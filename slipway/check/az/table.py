"""Shows the evidence about every zone, and the decision."""

from rich.console import Console
from rich.table import Table

from slipway.check.az.decision import Decision, obstacles
from slipway.check.az.evidence import Evidence, Zone
from slipway.check.az.wanted import Wanted
from slipway.terminal import Fitted

_NOTHING = "-"


def print_evidence(wanted: Wanted, evidence: Evidence, decision: Decision | None, console: Console) -> None:
    """Print a row for each zone, with columns for what the environment asks about.

    Args:
        wanted: what the environment asks for.
        evidence: what is known.
        decision: the chosen zones; None when none fits.
        console: where to print.
    """
    types = tuple(dict.fromkeys((*wanted.training, *wanted.everywhere)))
    table = Table("zone", "trains", title=f"Zones of {wanted.region} ({evidence.source})", title_justify="left")
    columns = {
        "subnets": bool(wanted.subnet_zones),
        "serves": bool(wanted.serving),
        "reservations": bool(wanted.reservations),
        "file systems": True,
        "Spot USD/h": bool(wanted.spot),
        "Capacity Blocks": bool(wanted.blocks),
    }
    for name, shown in columns.items():
        if shown:
            table.add_column(name, overflow="fold")
    table.add_column("decision")
    for zone in evidence.zones:
        cells = {
            "subnets": ", ".join(_subnets(wanted, zone)) or _NOTHING,
            "serves": _offers(zone, wanted.serving),
            "reservations": ", ".join(zone.reservations) or _NOTHING,
            "file systems": ", ".join(sorted(zone.file_systems)) or "not known",
            "Spot USD/h": ", ".join(f"{name} {usd:.4f}" for name, usd in sorted(zone.spot_usd.items())) or _NOTHING,
            "Capacity Blocks": "; ".join(zone.blocks.values()) or _NOTHING,
        }
        shown_cells = [cells[name] for name, shown in columns.items() if shown]
        table.add_row(zone.id, _offers(zone, types), *shown_cells, _verdict(wanted, evidence, zone, decision))
    console.print(Fitted(table))
    for note in evidence.notes:
        console.print(note, soft_wrap=True, markup=False, highlight=False)


def _offers(zone: Zone, types: tuple[str, ...]) -> str:
    lacking = [name for name in types if name not in zone.offered]
    if not lacking:
        return "all" if types else _NOTHING
    return f"no {', '.join(lacking)}"


def _subnets(wanted: Wanted, zone: Zone) -> list[str]:
    """Return the kinds of subnet that the file names in a zone."""
    return [name.removesuffix("_subnets") for name, zones in wanted.subnet_zones.items() if zone.id in zones]


def _verdict(wanted: Wanted, evidence: Evidence, zone: Zone, decision: Decision | None) -> str:
    if decision and zone.id == decision.training:
        return "training"
    if decision and zone.id in decision.others:
        return "other"
    # What it does not offer stands in the columns before.
    found = obstacles(wanted, evidence, zone)
    possible = "possible with a subnet" if wanted.lacking_subnets(zone.id) else "possible"
    return ", ".join(why for why in found if not why.startswith("no ")) or ("no" if found else possible)
