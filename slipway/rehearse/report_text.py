"""All of a report as tables: the text that is written beside report.json, and what the page shows."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from slipway.rehearse.report import Report

_WIDTH = 140
_ORIGINS = {"app": "the app", "bootstrap": "cdk bootstrap", "resource": "a resource"}


def write_text(report: Report, file: Path) -> None:
    """Write the report as text; the verdict is the last line."""
    with file.open("w", encoding="utf-8") as stream:
        console = Console(file=stream, width=_WIDTH, color_system=None, emoji=False)
        for table in tables(report):
            console.print(table)
            console.print()
        console.print(report.verdict, markup=False, highlight=False, soft_wrap=True)


def tables(report: Report) -> list[Table]:
    """Return the tables that have rows."""
    found = (
        _failures(report),
        _denials(report),
        _phases(report),
        _stacks(report),
        _types(report),
        _outputs(report),
        _not_rehearsed(report),
        _seeds(report),
        _limits(report),
        _leftovers(report),
    )
    return [table for table in found if table.row_count]


def _denials(report: Report) -> Table:
    table = _table("Not allowed", "who", "action", "on", "why", "what to write")
    for denial in report.permissions.denials:
        row = (denial.principal, denial.action, denial.resource or "", denial.why, denial.fix)
        table.add_row(*map(escape, row))
    for denial in report.permissions.tolerated:
        table.add_row(denial.principal, denial.action, denial.resource or "", "tolerated", escape(denial.fix))
    for message in report.permissions.unknown:
        table.add_row("", "", "", "the required permissions of this call are unknown", escape(message))
    return table


def _phases(report: Report) -> Table:
    table = _table("Phases", "phase", "outcome", "seconds", "what was seen")
    for phase in report.phases:
        table.add_row(phase.title, phase.outcome, f"{phase.seconds:.1f}", escape(phase.detail))
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _types(report: Report) -> Table:
    table = _table("Created, by type", "type", "created", "what stood behind")
    for row in report.types:
        backing = ", ".join(f"{count} {name}" for name, count in sorted(row.backing.items()))
        table.add_row(row.type, str(row.created), backing)
    return table


def _stacks(report: Report) -> Table:
    table = _table("Stacks", "stack", "made by", "created", "updated", "replaced", "deleted")
    for stack in report.stacks:
        numbers = (stack.created, stack.updated, stack.replaced, stack.deleted)
        table.add_row(stack.name, _ORIGINS[stack.origin], *map(str, numbers))
    return table


def _outputs(report: Report) -> Table:
    table = _table("Stack outputs", "stack", "output", "value")
    for stack in report.stacks:
        for name, value in stack.outputs.items():
            table.add_row(stack.name, name, escape(value))
    return table


def _not_rehearsed(report: Report) -> Table:
    unproven = report.not_rehearsed
    table = _table("Not rehearsed", "what", "name", "why")
    for record in unproven.records:
        table.add_row("only written down", f"{record.stack}/{record.logical_id}", record.type)
    for unmapped in unproven.unmapped:
        table.add_row("properties without a home", unmapped.type, escape(", ".join(unmapped.properties)))
    for held in unproven.held_back:
        table.add_row("held back", escape(f"{held.stack}/{held.logical_id} {held.what}"), escape(held.why))
    for deviation in unproven.deviations:
        table.add_row("bridged", escape(deviation.name), escape(deviation.why))
    for name in unproven.ledger_only:
        table.add_row("seen in the ledger only", name, "no list call of the inventory shows it")
    return table


def _seeds(report: Report) -> Table:
    table = _table("Seeded, because a real Region has it", "what", "why")
    for seed in report.seeds:
        table.add_row(escape(seed.what), escape(seed.why))
    return table


def _limits(report: Report) -> Table:
    table = _table("What a rehearsal cannot tell you", "")
    table.show_header = False
    for limit in report.not_rehearsed.limits:
        table.add_row(escape(limit))
    return table


def _leftovers(report: Report) -> Table:
    table = _table("Left after destroy", "", "kind", "name", "why")
    for left in report.leftovers:
        mark = "documented" if left.documented else "[bold red]UNEXPECTED[/]"
        table.add_row(mark, left.kind, escape(left.name), escape(left.reason))
    return table


def _failures(report: Report) -> Table:
    table = _table("Failed resources", "resource", "type", "reason")
    for failure in report.failures:
        table.add_row(f"{failure.stack}/{failure.logical_id}", failure.type, escape(failure.reason))
    return table
