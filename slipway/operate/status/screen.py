"""`slipway status` for people: one screen of 80 columns; names are whole at any width."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from slipway.operate.status.model import JobRow, ModelRow, NodeRow, StackRow, Status
from slipway.review.report.wording import duration
from slipway.terminal import Fitted

_MOST_ROWS = 8
"""How many rows a part shows."""

_LABEL_COLUMNS = 8
"""What the names of the parts take on the left."""

_Row = Sequence[str]


def print_status(status: Status, now: datetime, console: Console) -> None:
    """Print the screen.

    Args:
        status: what to show.
        now: the time, with its zone.
        console: where to.
    """
    _say(f"environment {status.environment}, account {status.account}, {status.region}", console)
    for name, rows in _parts(status, now):
        if name in status.unknown:
            _print_part(name, [(f"unknown: {status.unknown[name]}",)], console)
        else:
            _print_part(name, rows or [("none",)], console)
    for name, link in status.links.items():
        _say(f"{name}: {link}", console)


def _parts(status: Status, now: datetime) -> Iterator[tuple[str, list[_Row]]]:
    yield "stacks", [_stack(row, now) for row in status.stacks]
    yield "nodes", [_node(row) for row in status.nodes]
    yield "jobs", [_job(row) for row in status.jobs]
    yield "models", [_model(row) for row in status.models]
    yield "spend", [(_spend(status),)]
    yield "alarms", [("ON", _short(name, status)) for name in status.alarms]


def _print_part(name: str, rows: Sequence[_Row], console: Console) -> None:
    """Print a part's rows beside its name, in columns of their own."""
    shown = rows[: _MOST_ROWS - 1] if len(rows) > _MOST_ROWS else rows
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    for _ in shown[0]:
        table.add_column(overflow="fold")
    for row in shown:
        table.add_row(*(Text(cell) for cell in row))
    part = Table.grid()
    part.add_column(width=_LABEL_COLUMNS, no_wrap=True)
    part.add_column(overflow="fold")
    part.add_row(name, Fitted(table, dense=True))
    if len(shown) < len(rows):
        part.add_row("", Text(f"and {len(rows) - len(shown)} more: --json has them all"))
    console.print(part)


def _say(text: str, console: Console) -> None:
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def _short(alarm: str, status: Status) -> str:
    """Take the name of its stack off a name that CloudFormation has made."""
    return next((alarm.removeprefix(f"{row.name}-") for row in status.stacks if alarm.startswith(row.name)), alarm)


def _stack(row: StackRow, now: datetime) -> _Row:
    since = f"for {duration(round((now - row.since).total_seconds()))}" if row.since else ""
    return row.name, row.status, since


def _node(row: NodeRow) -> _Row:
    return row.group, f"{row.count} x {row.instance_type}, {row.state}"


def _job(row: JobRow) -> _Row:
    return row.id, row.name, row.user, row.state, row.elapsed


def _model(row: ModelRow) -> _Row:
    tasks = "" if row.tasks is None else f", {row.tasks} of {row.wanted} tasks"
    candidate = f", {row.percent} % to {_version(row.name, row.candidate)}" if row.candidate else ""
    served = _version(row.name, row.served) if row.served else "nothing is served yet"
    return row.name, f"{served}{candidate}{tasks}"


def _version(model: str, folder: str) -> str:
    return folder.removeprefix(f"{model}/")


def _spend(status: Status) -> str:
    spend = status.spend
    if spend is None:
        return "no budget: operations.monthly_budget_usd (`slipway docs budget`)"
    return f"${spend.usd:,.2f} of ${spend.budget_usd:,.0f} this month ({spend.usd / spend.budget_usd:.0%})"
