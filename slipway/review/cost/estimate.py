"""The estimate: every resource of every template becomes lines, or is known to cost nothing."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import partial
from typing import Any

from slipway import facts
from slipway.assembly.instances import InstanceGroup, instance_groups
from slipway.assembly.stacks import Stack
from slipway.catalogue import billings
from slipway.review.cost.bill import Bill, Origin, by_use, priced
from slipway.review.cost.hosts import MACHINES, Launched
from slipway.review.cost.model import Cost, CostLine
from slipway.review.cost.resources import MEASURED, has


def estimate(stacks: tuple[Stack, ...]) -> Cost:
    """Return what an environment costs by list prices: while it is idle, and when everything runs that may.

    It reads templates alone: what bills by use has a line, but no amount. A resource of a type that the facts do not
    know becomes a line without a price, and so does everything in a Region whose prices they do not have.

    Args:
        stacks: the stacks of one assembly, all of one Region.
    """
    launched: dict[str, dict[str, list[InstanceGroup]]] = defaultdict(lambda: defaultdict(list))
    for group in instance_groups(stacks):
        launched[group.stack][group.logical_id].append(group)
    lines: list[CostLine] = []
    free: Counter[str] = Counter()
    for stack in stacks:
        for logical_id, resource in stack.template["Resources"].items():
            origin = Origin(stack.name, logical_id, resource["Type"], stack.region)
            found = list(_lines(origin, resource.get("Properties", {}), launched[stack.name]))
            lines += found
            if not found:
                free[origin.resource_type] += 1
    region = stacks[0].region
    return Cost(
        region=region,
        lines=tuple(lines),
        prices_as_of=min(_dates(lines, region), default=None),
        free_types=dict(sorted(free.items())),
    )


def _or_unknown(bills: Callable[[], Iterable[Bill]], resource_type: str) -> Iterable[Bill]:
    try:
        return tuple(bills())
    except (KeyError, TypeError, ValueError) as problem:
        # A resource that somebody added, which says less than Slipway's own: neither free nor a reason to stop.
        return (Bill(resource_type, None, note=f"its template does not say how much it bills: {problem}"),)


def _dates(lines: list[CostLine], region: str) -> Iterator[date]:
    """Yield when each price that is in the sums was read."""
    for line in lines:
        if line.billing == "priced" and line.item:
            yield facts.prices()[line.item, region].as_of


def _lines(origin: Origin, properties: Mapping[str, Any], launched: Launched) -> Iterator[CostLine]:
    billing = billings().get(origin.resource_type)
    if billing is None:
        yield priced(Bill(origin.resource_type, None, note="nobody has said how this type bills"), origin)
        return
    yield from (priced(Bill(charge.what, charge.item), origin) for charge in billing.each)
    if measure := MEASURED.get(origin.resource_type):
        measured = partial(measure, properties)
        yield from (priced(bill, origin) for bill in _or_unknown(measured, origin.resource_type))
    if bills := MACHINES.get(origin.resource_type):
        of_machines = partial(bills, origin.logical_id, properties, launched)
        yield from (priced(bill, origin) for bill in _or_unknown(of_machines, origin.resource_type))
    for charge in billing.by_use:
        if charge.when is None or has(properties, charge.when):
            yield by_use(charge, origin)
