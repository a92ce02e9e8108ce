"""The folded parts of the pull request's comment."""

from collections.abc import Iterator

from slipway.review.changes.model import PropertyChange
from slipway.review.deploy_time.model import DeployTime
from slipway.review.drift.model import Drift
from slipway.review.plan import Comparison, Plan
from slipway.review.report import drift, wider_access
from slipway.review.report.causes import Cause, causes, effects_counted, own_path
from slipway.review.report.cost_rows import CostRow, cost_rows
from slipway.review.report.markdown_text import code, in_html, prose
from slipway.review.report.not_checked import not_checked
from slipway.review.report.shortening import Block
from slipway.review.report.verdict import is_refused
from slipway.review.report.wording import (
    BILLING_WORDS,
    EFFECT_WORDS,
    VERDICT_WORDS,
    count,
    duration,
    usd,
    values,
)
from slipway.review.security.model import Acknowledgement, SecurityFinding

_MOST_FOLLOWERS = 20
_LONGEST_VALUE = 400
_RANKS = {
    "deploy time": 9,
    "cost": 8,
    "files": 6,
    "changes": 5,
    "security": 4,
    "cluster": 3,
    "not checked": 2,
    "access": 1,
    "drift": 0,
}
"""What is shortened first has the highest number."""


def blocks(plan: Plan) -> Iterator[Block]:
    """Yield the folded parts, in their order; an empty one is left out."""
    made = (
        *(_drift(plan.drift) if plan.drift else ()),
        *(_compared(plan.comparison) if plan.comparison else ()),
        *_standing(plan),
    )
    yield from (block for block in made if block.lines)


def _drift(found: Drift) -> Iterator[Block]:
    lines = [f"- {prose(drift.introduction(found))}"]
    for one in drift.told(found):
        bad = "".join(f" **{prose(phrase)}.**" for phrase in one.bad)
        lines.append(f"- {code(one.name)} ({code(one.type)}): {one.what}.{bad}")
        lines += [f"  - {code(line)}" for line in one.properties]
    lines += [f"- not compared: {prose(sentence)}" for sentence in found.not_compared]
    title = f"{drift.TITLE}: {count(len(found.resources), 'resource')}"
    yield Block(title, "line of drift", tuple(lines), _RANKS["drift"])


def _compared(comparison: Comparison) -> Iterator[Block]:
    changes = comparison.changes
    access = tuple(
        f"- **{kind}**: {prose(wider.what)} ({code(wider.resource)} in {prose(wider.stack)})"
        for kind, group in wider_access.by_harm(changes)
        for wider in group
    )
    yield Block(f"{wider_access.TITLE}: {len(access):,}", "line of access", access, _RANKS["access"])
    if comparison.cluster_update:
        verdict = comparison.cluster_update
        lines = tuple(f"- {prose(line)}" for line in verdict.lines)
        title = VERDICT_WORDS[verdict.verdict]
        yield Block(title, "line about the cluster", lines or (f"- {title}.",), _RANKS["cluster"])
    found = causes(changes)
    for stack in dict.fromkeys(cause.change.stack for cause in found):
        here = [cause for cause in found if cause.change.stack == stack]
        every = (change for cause in here for change in (cause.change, *cause.follow))
        title = f"{in_html(stack)}: {effects_counted(every)}"
        lines = tuple(_cause(cause) for cause in here)
        alarming = sum(cause.is_alarming for cause in here)
        yield Block(title, f"change in {prose(stack)}", lines, _RANKS["changes"], alarming)
    assets = tuple(f"- {code(asset)}" for asset in changes.asset_changes)
    title = f"Nothing but an uploaded file changes: {count(len(assets), 'resource')}"
    yield Block(title, "line of changed files", assets, _RANKS["files"])
    delta = comparison.security
    lines = (
        *(_finding("new", finding) for finding in delta.new),
        *(_finding("gone", finding) for finding in delta.gone),
        *(_accepted("newly accepted", item) for item in delta.new_acknowledgements),
        *(_accepted("no longer accepted", item) for item in delta.gone_acknowledgements),
    )
    yield Block(f"Security: {count(len(lines), 'difference')}", "line of security", lines, _RANKS["security"])


def _standing(plan: Plan) -> Iterator[Block]:
    if plan.comparison is None:
        findings = tuple(_finding("found", finding) for finding in plan.security.findings)
        yield Block(f"Security findings: {len(findings):,}", "finding", findings, _RANKS["security"])
    rows = cost_rows(plan.cost, plan.comparison.cost if plan.comparison else None)
    dated = f", list prices of {plan.cost.prices_as_of} or later" if plan.cost.prices_as_of else ""
    lines = tuple(_cost(row) for row in rows)
    yield Block(f"Cost, line by line, an hour{dated}", "line of cost", lines, _RANKS["cost"])
    time = plan.comparison.deploy_time if plan.comparison else plan.deploy_time
    title = f"Deploy time: {duration(time.seconds)}, the longest chain"
    if is_refused(plan):
        title = "Deploy time, if the cluster's update were possible"
    yield Block(title, "step of the deployment", tuple(_steps(time)), _RANKS["deploy time"])
    unchecked = tuple(f"- {prose(sentence)}" for sentence in not_checked(plan))
    yield Block(f"Not checked: {len(unchecked):,}", "line of what was not checked", unchecked, _RANKS["not checked"])


def _cause(cause: Cause) -> str:
    change = cause.change
    lost = ", **loses data**" if cause.loses_data else ""
    lines = [f"- **{EFFECT_WORDS[change.effect]}**{lost}: {code(own_path(change))} ({code(change.type)})"]
    lines += [f"  - {prose(note)}" for note in cause.notes]
    lines += [
        f"  - {code(changed.path)}: {_before_and_after(changed)}"
        + (f" ({EFFECT_WORDS[changed.effect]})" if changed.effect != "update" else "")
        for changed in change.properties
    ]
    if cause.follow:
        names = ", ".join(code(own_path(follower)) for follower in cause.follow[:_MOST_FOLLOWERS])
        more = len(cause.follow) - _MOST_FOLLOWERS
        rest = f" and {more:,} more" if more > 0 else ""
        lines.append(f"  - and {cause.following}: {names}{rest}")
    return "\n".join(lines)


def _before_and_after(changed: PropertyChange) -> str:
    before, after = values(changed.before, changed.after, _LONGEST_VALUE)
    shown = before if changed.before is None else code(before), after if changed.after is None else code(after)
    return " \N{RIGHTWARDS ARROW} ".join(shown)


def _finding(word: str, finding: SecurityFinding) -> str:
    where = f"{code(finding.resource)} in {prose(finding.stack)}"
    return f"- {word}: **{prose(finding.rule)}** ({prose(finding.tool)}) on {where}: {prose(finding.message)}"


def _accepted(word: str, item: Acknowledgement) -> str:
    where = f"{code(item.resource)} in {prose(item.stack)}"
    return f"- {word}: **{prose(item.rule)}** on {where}: {prose(item.reason)}"


def _cost(row: CostRow) -> str:
    times = f" \N{MULTIPLICATION SIGN} {row.times}" if row.times > 1 else ""
    gone = " (gone)" if row.is_gone else ""
    priced = f"idle {usd(row.idle)}, peak {usd(row.peak)}"
    amounts = priced if row.billing == "priced" else f"price {BILLING_WORDS[row.billing]}"
    more = f" ({', '.join(row.changes)})" if row.changes else ""
    note = f"; {prose(row.note)}" if row.note else ""
    return f"- {prose(row.what)}{times} in {prose(row.stack)}{gone}: {amounts}{more}{note}"


def _steps(time: DeployTime) -> Iterator[str]:
    for step in time.chain:
        known = "" if step.is_known else ", no create time known"
        yield f"- {duration(step.seconds)}: {code(step.type)} in {prose(step.stack)}, {code(step.logical_id)}{known}"
    if time.chain:
        yield f"- One stack after another: {duration(time.one_stack_after_another_seconds)}"
