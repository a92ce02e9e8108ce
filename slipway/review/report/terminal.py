"""The plan for the terminal, the most alarming first."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from slipway.review.changes.model import Effect
from slipway.review.plan import Comparison, Plan, Verdict
from slipway.review.report import changed_lines, drift, wider_access
from slipway.review.report.causes import Cause, causes, own_path
from slipway.review.report.cost_rows import PERIODS, cost_rows, totals
from slipway.review.report.headline import summary
from slipway.review.report.not_checked import not_checked
from slipway.review.report.verdict import TITLE, harms, is_refused
from slipway.review.report.wording import (
    BILLING_WORDS,
    EFFECT_WORDS,
    VERDICT_WORDS,
    count,
    duration,
    printable,
    usd,
    values,
)
from slipway.review.security.model import SecurityFinding

_COLOURS: dict[Effect, str] = {
    "replace": "bold red",
    "may_replace": "bold red",
    "remove": "red",
    "orphan": "red",
    "update": "yellow",
    "add": "green",
}
_VERDICT_COLOURS: dict[Verdict, str] = {
    "cannot_update": "bold red",
    "nodes_must_stop": "yellow",
    "not_known": "yellow",
    "can_update": "green",
    "no_change": "green",
}
_LONGEST_VALUE = 120


def print_plan(plan: Plan, console: Console) -> None:
    """Print the plan: the verdict first, what it replaces and opens, the cluster's update, security, cost and time."""
    comparison = plan.comparison
    compared = f" compared with {comparison.base}" if comparison else ""
    _say(console, f"Plan of {plan.environment}, {plan.region}: {plan.head}{compared}", "bold")
    found = harms(plan)
    if found:
        _say(console, f"{TITLE}:", "bold red")
        for harm in found:
            _say(console, f"  - {harm.what}. {harm.instead}", "red")
    _print_lines(plan, console)
    _say(console, f"{summary(plan)}.")
    for note in plan.notes:
        _say(console, f"note: {note}", "yellow")
    _print_drift(plan, console)
    if comparison:
        _print_comparison(comparison, console)
    else:
        _print_findings("Security findings", plan.security.findings, console)
    _print_cost(plan, console)
    _print_time(plan, console)
    sentences = not_checked(plan)
    if sentences:
        _head(console, "Not checked")
        for sentence in sentences:
            _say(console, f"  - {sentence}")


def _print_lines(plan: Plan, console: Console) -> None:
    told = changed_lines.told(plan)
    if not told:
        return
    _say(console, f"{changed_lines.TITLE}: {changed_lines.introduction(plan)}", "bold")
    width = max(len(line.place) for line in told)
    for line in told:
        change = f": {line.before} -> {line.after}" if line.place else ""
        _say(console, f"  {line.place.rjust(width)} {line.name}{change}", "bold")
        for phrase in line.bad:
            _say(console, f"  {' ' * width} - {phrase}", "red")
        if line.effects:
            _say(console, f"  {' ' * width} - {'; '.join(line.effects)}")


def _print_drift(plan: Plan, console: Console) -> None:
    if plan.drift is None:
        return
    _head(console, drift.TITLE)
    _say(console, f"  {drift.introduction(plan.drift)}")
    for one in drift.told(plan.drift):
        _say(console, f"  {one.name}  {one.type}: {one.what}", "bold")
        for phrase in one.bad:
            _say(console, f"    - {phrase}", "red")
        for line in one.properties:
            _say(console, f"    {line}")
    for sentence in plan.drift.not_compared:
        _say(console, f"  not compared: {sentence}", "yellow")


def _print_comparison(comparison: Comparison, console: Console) -> None:
    changes = comparison.changes
    _head(console, "Changes")
    if changes.is_empty:
        _say(console, "  Nothing changes.")
    for cause in causes(changes):
        for line in _lines(cause):
            console.print(line, soft_wrap=True)
    if changes.asset_changes:
        names = ", ".join(asset.partition("/")[2] for asset in changes.asset_changes)
        _say(console, f"  Only uploaded files change in {count(len(changes.asset_changes), 'resource')}: {names}")
    if changes.broadenings:
        _head(console, wider_access.TITLE)
        for kind, group in wider_access.by_harm(changes):
            _say(console, f"  {kind}:")
            for wider in group:
                _say(console, f"  - {wider.what} ({wider.stack}, {wider.resource})", "red")
    if comparison.cluster_update:
        _head(console, "Cluster update")
        verdict = comparison.cluster_update.verdict
        _say(console, f"  {VERDICT_WORDS[verdict]}.", _VERDICT_COLOURS[verdict])
        for sentence in comparison.cluster_update.lines:
            _say(console, f"  - {sentence}")
    delta = comparison.security
    _print_findings("New security findings", delta.new, console)
    _print_findings("Security findings that are gone", delta.gone, console)
    for word, items in (
        ("Newly accepted", delta.new_acknowledgements),
        ("No longer accepted", delta.gone_acknowledgements),
    ):
        if items:
            _head(console, word)
            for item in items:
                _say(console, f"  - {item.rule} on {item.resource} in {item.stack}: {item.reason}")


def _lines(cause: Cause) -> Iterator[Text]:
    change = cause.change
    lost = ", LOSES DATA" if cause.loses_data else ""
    word = Text(f"{EFFECT_WORDS[change.effect]}{lost}", style=_COLOURS[change.effect])
    path = printable(f"{change.stack}/{own_path(change)}")
    yield Text.assemble("  ", word, f"  {path}", (f"  {printable(change.type)}", "dim"))
    for changed in change.properties:
        effect = f" ({EFFECT_WORDS[changed.effect]})" if changed.effect != "update" else ""
        before, after = values(changed.before, changed.after, _LONGEST_VALUE)
        yield Text(printable(f"      {changed.path}: {before} -> {after}{effect}"))
    for note in cause.notes:
        yield Text(printable(f"      {note}"))
    if cause.follow:
        yield Text(f"      and {cause.following}", style="dim")


def _print_findings(title: str, findings: tuple[SecurityFinding, ...], console: Console) -> None:
    if findings:
        _head(console, title)
        for finding in findings:
            where = f"{finding.resource} in {finding.stack}"
            _say(console, f"  - {finding.rule} ({finding.tool}, {finding.severity}) on {where}: {finding.message}")


def _print_cost(plan: Plan, console: Console) -> None:
    base = plan.comparison.cost if plan.comparison else None
    dated = f", list prices of {plan.cost.prices_as_of} or later" if plan.cost.prices_as_of else ""
    _head(console, f"Cost in {plan.cost.region}{dated}")
    rows = [["", *(f"a{'n' if period == 'hour' else ''} {period}" for period, _ in PERIODS), "change an hour"]]
    for total in totals(plan.cost, base):
        rows.append([total.name.lower(), *(total.amount(hours) for _, hours in PERIODS), total.change_an_hour()])
    shown = [row if base else row[:-1] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for first, *amounts in shown:
        cells = (amount.rjust(width) for amount, width in zip(amounts, widths[1:], strict=True))
        _say(console, f"  {'    '.join((first.ljust(widths[0]), *cells))}")
    for row in cost_rows(plan.cost, base):
        gone = " (gone)" if row.is_gone else ""
        if row.billing == "unknown":
            note = f": {row.note}" if row.note else ""
            word = row.price_news or f"price {BILLING_WORDS[row.billing]}"
            _say(console, f"  {word}: {row.what} in {row.stack}{gone}{note}", "yellow")
        elif row.price_news:
            priced = f"idle {usd(row.idle)}, peak {usd(row.peak)}"
            _say(console, f"  {row.price_news}: {row.what} in {row.stack}: {priced}", "yellow")
        elif row.changes:
            _say(console, f"  {row.what} in {row.stack}{gone}: {', '.join(row.changes)}")


def _print_time(plan: Plan, console: Console) -> None:
    time = plan.comparison.deploy_time if plan.comparison else plan.deploy_time
    if is_refused(plan):
        _head(console, "Does not deploy: the cluster's update would be refused")
        return
    _head(console, f"Deploys in {duration(time.seconds)}")
    longest = time.waits_for
    if longest:
        _say(console, f"  waits most for {longest.type} in {longest.stack}: {duration(longest.seconds)}")
        _say(console, f"  one stack after another: {duration(time.one_stack_after_another_seconds)}")
    if time.without_estimate:
        _say(console, f"  no create time is known for {', '.join(time.without_estimate)}")


def _head(console: Console, title: str) -> None:
    console.print()
    _say(console, title, "bold")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(printable(text), style=style), soft_wrap=True)
