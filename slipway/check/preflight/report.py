"""The report of a preflight, for people."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from slipway.check.preflight.answer import Answer, Status
from slipway.check.preflight.preflight import NOT_CHECKED, Preflight
from slipway.terminal import Fitted

_GROUPS: dict[Status, tuple[str, str]] = {
    "failed": ("failed: the deployment would fail", "bold red"),
    "warning": ("warning: it may fail, or cost more than thought", "bold yellow"),
    "not_checked": ("not checked: no answer, so it may fail or not", "bold magenta"),
    "passed": ("passed", "bold green"),
}
"""What comes first needs doing first."""


def print_preflight(found: Preflight, console: Console) -> None:
    """Print what was found, the worst first; commands stand whole on lines of their own, to be copied."""
    where = f"account {found.account_id}" if found.account_id else "no account"
    _line(
        console, f"preflight of environment {found.environment} in {found.region}, {where}: {', '.join(found.stacks)}"
    )
    for status, (heading, style) in _GROUPS.items():
        answers = found.of(status)
        if answers:
            _line(console, "")
            _line(console, f"{heading} ({len(answers)})", style)
            console.print(Fitted(_table(answers)))
            for line in _fixes(answers):
                _line(console, line)
    _line(console, "")
    if found.not_needed:
        _line(console, f"nothing to look at for: {', '.join(found.not_needed)}")
    _line(console, _summary(found))


def _table(answers: Iterable[Answer]) -> Table:
    table = Table(show_lines=False, expand=False)
    for heading in ("check", "subject", "found"):
        table.add_column(heading, overflow="fold")
    for message, group in groupby(answers, key=lambda answer: answer.message):
        # Without credentials all checks say the same: once is enough.
        alike = list(group)
        checks, subjects = (dict.fromkeys(each) for each in zip(*((a.check, a.subject) for a in alike), strict=True))
        table.add_row(", ".join(checks), escape("; ".join(subjects)), escape(message))
    return table


def _fixes(answers: Iterable[Answer]) -> Iterator[str]:
    """Yield what to do, each thing once, with the checks that want it."""
    wanted: dict[str, list[str]] = {}
    for answer in answers:
        if answer.fix:
            checks = wanted.setdefault(answer.fix, [])
            if answer.check not in checks:
                checks.append(answer.check)
    for whose, fixes in groupby(wanted, key=lambda fix: ", ".join(wanted[fix])):
        yield f"{whose}:"
        yield from (f"  {line}" for fix in fixes for line in fix.splitlines())


def _summary(found: Preflight) -> str:
    counts = ", ".join(f"{len(found.of(status))} {status.replace('_', ' ')}" for status in _GROUPS)
    if found.of("failed"):
        return f"{counts}: do not deploy before the failed ones are fixed"
    if found.exit_code(strict=False) == NOT_CHECKED:
        return f"{counts}: nothing that AWS would have to tell could be checked"
    if found.of("not_checked"):
        return f"{counts}: nothing was found that stops a deployment, but not everything could be checked"
    if found.of("warning"):
        return f"{counts}: nothing stops a deployment; read the warnings"
    return f"{counts}: nothing stops a deployment"


def _line(console: Console, text: str, style: str | None = None) -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
