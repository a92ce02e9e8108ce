"""`slipway status` for people: one screen of 80 columns."""

from collections.abc import Iterator
from datetime import datetime

from slipway.operate.status.model import JobRow, ModelRow, NodeRow, StackRow, Status
from slipway.review.report.wording import duration

_MOST_ROWS = 8
"""How many rows a part shows."""


def lines(status: Status, now: datetime) -> Iterator[str]:
    """Yield the screen's lines.

    Args:
        status: what to show.
        now: the time, with its zone.
    """
    yield f"environment {status.environment}, account {status.account}, {status.region}"
    yield from _part("stacks", status, [_stack(row, now) for row in status.stacks])
    yield from _part("nodes", status, [_node(row) for row in status.nodes])
    yield from _part("jobs", status, [_job(row) for row in status.jobs])
    yield from _part("models", status, [_model(row) for row in status.models])
    yield from _part("spend", status, [_spend(status)])
    yield from _part("alarms", status, [f"ON  {_short(name, status)}" for name in status.alarms])
    for name, link in status.links.items():
        yield f"{name}: {link}"


def _part(name: str, status: Status, rows: list[str]) -> Iterator[str]:
    if name in status.unknown:
        rows = [f"unknown: {status.unknown[name]}"]
    if len(rows) > _MOST_ROWS:
        rows = [*rows[: _MOST_ROWS - 1], f"and {len(rows) - _MOST_ROWS + 1} more: --json has them all"]
    for number, row in enumerate(rows or ["none"]):
        yield f"{name if number == 0 else '':<8}{row}"


def _short(alarm: str, status: Status) -> str:
    """Take the name of its stack off a name that CloudFormation has made."""
    return next((alarm.removeprefix(f"{row.name}-") for row in status.stacks if alarm.startswith(row.name)), alarm)


def _stack(row: StackRow, now: datetime) -> str:
    since = f"for {duration(round((now - row.since).total_seconds()))}" if row.since else ""
    return f"{row.name:<32} {row.status:<24} {since}".rstrip()


def _node(row: NodeRow) -> str:
    return f"{row.group:<32} {row.count} x {row.instance_type}, {row.state}"


def _job(row: JobRow) -> str:
    return f"{row.id:<8} {row.name[:24]:<24} {row.user[:12]:<12} {row.state:<10} {row.elapsed}"


def _model(row: ModelRow) -> str:
    tasks = "" if row.tasks is None else f", {row.tasks} of {row.wanted} tasks"
    candidate = f", {row.percent} % to {_version(row.name, row.candidate)}" if row.candidate else ""
    served = _version(row.name, row.served) if row.served else "nothing is served yet"
    return f"{row.name:<24} {served}{candidate}{tasks}"


def _version(model: str, folder: str) -> str:
    return folder.removeprefix(f"{model}/")


def _spend(status: Status) -> str:
    spend = status.spend
    if spend is None:
        return "no budget: operations.monthly_budget_usd (`slipway docs budget`)"
    return f"${spend.usd:,.2f} of ${spend.budget_usd:,.0f} this month ({spend.usd / spend.budget_usd:.0%})"
