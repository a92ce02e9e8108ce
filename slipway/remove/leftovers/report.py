"""What `slipway leftovers` says."""

from collections.abc import Iterable, Iterator

from slipway.assembly.existing import TITLE
from slipway.remove.leftovers.findings import Findings, Leftover


def lines(found: Findings) -> Iterator[str]:
    """Yield the lines of a report for people."""
    where = f"environment {found.environment} in account {found.account}, {found.region}"
    if found.standing:
        yield f"{where} is deployed ({', '.join(found.standing)}): what belongs to these stacks is not listed"
    yield from _part("Left behind for no documented reason", _said(left for left in found.leftovers if not left.reason))
    yield from _part("Left behind, by design", _said(left for left in found.leftovers if left.reason))
    yield from _part("Tagged as the environment's, says the tag index, which lags behind", found.tagged_only)
    yield from _part(
        "Shared by all clusters of the account and Region",
        (f"{row.kind} {row.id}: {row.reason}" for row in found.shared),
    )
    yield from _part(TITLE, found.existing)
    yield from _part("NOT looked at", (f"{row.what}: {row.why}" for row in found.not_looked_at))
    yield from _part(
        "HOLDS DATA, which the commands below delete for good: leave out what shall stay",
        (f"{left.kind} {left.id}" for left in found.leftovers if left.holds_data),
    )
    yield from _part("What removes it, from top to bottom", found.commands)
    if found.leftovers:
        unpriced = f", and {found.unpriced} whose cost is not known" if found.unpriced else ""
        yield f"\n{len(found.leftovers)} left of {where}: ${found.usd_per_month:,.2f} a month at list prices{unpriced}"
    elif not found.tagged_only:
        besides = " among what could be looked at" if found.not_looked_at else ""
        yield f"\nnothing is left of {where}{besides}"


def _said(leftovers: Iterable[Leftover]) -> Iterator[str]:
    for left in leftovers:
        yield f"{left}. {left.reason}" if left.reason else str(left)


def _part(title: str, rows: Iterable[str]) -> Iterator[str]:
    rows = list(rows)
    if rows:
        yield f"\n{title}:"
        yield from (f"  {row}" for row in rows)
