"""Turns the ledger into the parts of the report."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

from slipway.assembly.cdk_cli import cut
from slipway.rehearse.cdk_cli import BOOTSTRAP_STACK
from slipway.rehearse.inventory import rows
from slipway.rehearse.ledger import DeviationEntry, Entry, HeldBackEntry, ResourceEntry, SeedEntry
from slipway.rehearse.report import (
    Failure,
    HeldBack,
    MotoPatch,
    NotRehearsed,
    Resource,
    Seed,
    StackResult,
    TypeResult,
    Unmapped,
)

_LIMITS = Path(__file__).with_name("limits.yaml")


@cache
def limits() -> tuple[str, ...]:
    """Return what no rehearsal can tell: the list in limits.yaml."""
    return tuple(yaml.safe_load(_LIMITS.read_text(encoding="utf-8"))["limits"])


def resources_of(entries: Sequence[Entry]) -> list[ResourceEntry]:
    """Return what happened to resources."""
    return [entry for entry in entries if isinstance(entry, ResourceEntry)]


def stacks(
    entries: Sequence[Entry], assembly_stacks: frozenset[str], outputs: Mapping[str, dict[str, str]]
) -> tuple[StackResult, ...]:
    """Count what happened in each stack; the app's stacks come first."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in sorted(assembly_stacks)}
    for entry in resources_of(entries):
        counts.setdefault(entry.stack, Counter())[entry.action] += 1
    return tuple(
        StackResult(
            name=name,
            origin="app" if name in assembly_stacks else "bootstrap" if name == BOOTSTRAP_STACK else "resource",
            created=count["create"],
            updated=count["update"],
            replaced=count["replace"],
            deleted=count["delete"] + count["rollback"],
            outputs=outputs.get(name, {}),
        )
        for name, count in counts.items()
    )


def types(entries: Sequence[Entry]) -> tuple[TypeResult, ...]:
    """Count the created resources of each type by what stood behind them."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in resources_of(entries):
        if entry.action == "create" and entry.backing is not None:
            counts[entry.type][entry.backing] += 1
    return tuple(
        TypeResult(type=name, created=count.total(), backing=dict(count)) for name, count in sorted(counts.items())
    )


def failures(entries: Sequence[Entry]) -> tuple[Failure, ...]:
    """Return the resources that failed, in the order in which they did; the same failure is reported once."""
    found = [
        Failure(
            stack=entry.stack, logical_id=entry.logical_id, type=entry.type, reason=cut(entry.reason or "no reason")
        )
        for entry in resources_of(entries)
        if entry.action == "failed"
    ]
    return tuple(dict.fromkeys(found))


def not_rehearsed(entries: Sequence[Entry]) -> NotRehearsed:
    """Name everything that the run proves nothing about."""
    resources = resources_of(entries)
    unmapped: dict[str, set[str]] = defaultdict(set)
    for entry in resources:
        unmapped[entry.type].update(entry.unmapped)
    return NotRehearsed(
        records=tuple(
            Resource(stack=entry.stack, logical_id=entry.logical_id, type=entry.type)
            for entry in resources
            if entry.action == "create" and entry.backing == "record"
        ),
        unmapped=tuple(
            Unmapped(type=name, properties=tuple(sorted(paths))) for name, paths in sorted(unmapped.items()) if paths
        ),
        held_back=tuple(
            HeldBack(**entry.model_dump(exclude={"kind"}), type=_type_of(entry, resources))
            for entry in dict.fromkeys(entries)
            if isinstance(entry, HeldBackEntry)
        ),
        deviations=tuple(
            MotoPatch(name=entry.name, why=entry.why)
            for entry in dict.fromkeys(entries)
            if isinstance(entry, DeviationEntry)
        ),
        ledger_only=_ledger_only(resources),
        limits=limits(),
    )


def seeds(entries: Sequence[Entry]) -> tuple[Seed, ...]:
    """Return what the emulator was given before anything was deployed."""
    return tuple(
        Seed(what=entry.what, why=entry.why) for entry in dict.fromkeys(entries) if isinstance(entry, SeedEntry)
    )


def _type_of(held_back: HeldBackEntry, resources: Sequence[ResourceEntry]) -> str:
    key = (held_back.stack, held_back.logical_id)
    return next((entry.type for entry in resources if entry.key == key), "unknown")


def _ledger_only(resources: Sequence[ResourceEntry]) -> tuple[str, ...]:
    listed = {name for row in rows() for name in row.types}
    made = {entry.type for entry in resources if entry.action == "create" and entry.backing == "api"}
    return tuple(sorted(made - listed))
