"""What a reviewer must see first."""

from dataclasses import dataclass, replace
from typing import Literal

from slipway.review.plan import ClusterUpdate, Comparison, Plan
from slipway.review.report import drift, wider_access
from slipway.review.report.causes import Cause, causes, own_path
from slipway.review.report.cost_rows import Total, totals
from slipway.review.report.verdict import is_refused
from slipway.review.report.wording import EFFECT_WORDS, VERDICT_WORDS, count, duration, per_hour

_FEW = 8
"""How many of a kind are named one by one."""

LONGEST_TITLE = 80
"""Characters of a title."""

Tone = Literal["bad", "careful", "good", "plain"]


@dataclass(frozen=True)
class Figure:
    """A number with its name."""

    name: str
    value: str
    unit: str
    detail: str
    tone: Tone


def figures(plan: Plan) -> tuple[Figure, ...]:
    """Return the figures at the top: cost, time, and with a comparison what it replaces, loses and opens."""
    time, comparison = plan.deploy_time, plan.comparison
    idle, peak = totals(plan.cost, comparison.cost if comparison else None)
    if comparison is None:
        findings, not_run = len(plan.security.findings), plan.security.not_run
        tone: Tone = "bad" if findings else "careful" if not_run else "good"
        detail = f"without {', '.join(not_run)}" if not_run else "not acknowledged"
        return (
            _cost_figure(idle, "while it is idle"),
            _cost_figure(peak, "when all that may run does"),
            Figure("First deployment", duration(time.seconds), "", "of everything", "plain"),
            Figure("Security findings", f"{findings:,}", "", detail, tone),
        )
    replaced = len(comparison.changes.with_effect("replace", "may_replace"))
    gone = len(comparison.changes.with_effect("remove", "orphan"))
    lost = sum(change.loses_data for change in comparison.changes.resources)
    wider = len(comparison.changes.broadenings)
    return (
        _changed_cost_figure(idle),
        _changed_cost_figure(peak),
        _time_figure(plan, comparison),
        Figure(
            "Replaced", f"{replaced:,}", "", f"and {gone:,} deleted or left behind", "careful" if replaced else "good"
        ),
        Figure(
            "Loses data",
            f"{lost:,}",
            "",
            "resource whose data goes" if lost == 1 else "resources whose data goes",
            "bad" if lost else "good",
        ),
        Figure(wider_access.SHORT_TITLE, f"{wider:,}", "", wider_access.TITLE.lower(), "bad" if wider else "good"),
    )


def summary(plan: Plan) -> str:
    """Return the plan in a line, the most alarming first."""
    return "; ".join(filter(None, _pieces(plan)))


def title(plan: Plan) -> str:
    """Return the environment and as much of the summary as fits into 80 characters."""
    text = f"Plan of {plan.environment}"
    if len(text) > LONGEST_TITLE:
        return f"{text[: LONGEST_TITLE - 3]}..."
    sign = ": "
    for piece in filter(None, _pieces(plan)):
        if len(text) + len(sign) + len(piece) > LONGEST_TITLE:
            break
        text += sign + piece
        sign = "; "
    return text


def _pieces(plan: Plan) -> tuple[str, ...]:
    sums = totals(plan.cost, plan.comparison.cost if plan.comparison else None)
    cost = ", ".join(f"{total.name.lower()} {per_hour(total.amount(), '/h')}" for total in sums)
    if plan.comparison is None:
        findings = count(len(plan.security.findings), "security finding")
        scanned = _not_scanned(plan.security.not_run)
        first = f"first deployment {duration(plan.deploy_time.seconds)}"
        return (cost, first, findings, scanned)
    comparison = plan.comparison
    changes = comparison.changes
    new_findings = count(len(comparison.security.new), "new security finding") if comparison.security.new else ""
    scanned = _not_scanned(comparison.security.not_run)
    if changes.is_empty:
        return (new_findings, "nothing changes", cost, scanned)
    lost = sum(change.loses_data for change in changes.resources)
    replaced = len(changes.with_effect("replace", "may_replace"))
    warning = _warning(comparison.cluster_update)
    warning = f"{warning[:1].lower()}{warning[1:]}"
    touched, files = len(changes.resources), len(changes.asset_changes)
    changed = [_cost_change(total) for total in sums if total.change != 0 or total.unknown_changes]
    refused = is_refused(plan)
    return (
        warning if refused else "",
        f"{count(lost, 'resource')} {'loses' if lost == 1 else 'lose'} data" if lost else "",
        f"{replaced:,} replaced" if replaced else "",
        *wider_access.counted(changes),
        "" if refused else warning,
        new_findings,
        f"{count(touched, 'resource')} touched" if touched else "",
        f"new files in {count(files, 'resource')}" if files else "",
        ", ".join(changed) or "the same cost",
        "" if refused else f"deploys in {duration(comparison.deploy_time.seconds)}",
        scanned,
    )


def look_first(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return what a reviewer should look at after the verdict, each with the section of the page that says more."""
    comparison = plan.comparison
    found = [(f"{drift.TITLE}: {line}", "drift") for line in drift.lines(plan.drift)] if plan.drift else []
    found = _few(found, drift.TITLE.lower(), "drift")
    found += _alarming(comparison) if comparison else []
    findings = comparison.security.new if comparison else plan.security.findings
    if findings:
        found.append((count(len(findings), "new security finding" if comparison else "security finding"), "security"))
    not_run = (comparison.security if comparison else plan.security).not_run
    if not_run:
        found.append((f"Security is {_not_scanned(not_run)}", "unchecked"))
    if plan.cost.unknown:
        found.append((f"{count(len(plan.cost.unknown), 'cost line')} without a known price", "cost"))
    return tuple(found)


def _not_scanned(not_run: tuple[str, ...]) -> str:
    return f"not scanned by {' and '.join(not_run)}" if not_run else ""


def _alarming(comparison: Comparison) -> list[tuple[str, str]]:
    changes = comparison.changes
    found = causes(changes)
    worst = [cause for cause in found if not cause.loses_data and cause.effect in {"replace", "may_replace"}]
    gone = [cause for cause in found if cause.is_alarming and not cause.loses_data and cause not in worst]
    sentences = _few([_sentence(cause) for cause in worst], "resource is replaced", "stacks")
    wider = [(f"{harm}: {one.what}", "access") for harm, group in wider_access.by_harm(changes) for one in group]
    sentences += _few(wider, wider_access.TITLE.lower(), "access")
    if comparison.cluster_update and comparison.cluster_update.verdict == "not_known":
        sentences.append((VERDICT_WORDS["not_known"], "cluster"))
    return sentences + _few([_sentence(cause) for cause in gone], "resource is deleted or left behind", "stacks")


def _warning(update: ClusterUpdate | None) -> str:
    if update is None or update.verdict in {"can_update", "no_change"}:
        return ""
    return VERDICT_WORDS[update.verdict]


def _sentence(cause: Cause) -> tuple[str, str]:
    change = cause.change
    follow = f"; {cause.following}" if cause.follow else ""
    return f"{own_path(change)} is {EFFECT_WORDS[change.effect]}{follow}", f"stack-{change.stack}"


def _few(sentences: list[tuple[str, str]], what: str, section: str) -> list[tuple[str, str]]:
    """Return the first sentences, and how many more there are of what."""
    more = len(sentences) - _FEW
    return [*sentences[:_FEW], *([(f"{more:,} more: {what}", section)] if more > 0 else [])]


def _time_figure(plan: Plan, comparison: Comparison) -> Figure:
    if is_refused(plan):
        return Figure("This deployment", "fails", "", "the cluster's update is refused", "bad")
    return Figure("This deployment", duration(comparison.deploy_time.seconds), "", "to deploy", "plain")


def _cost_figure(total: Total, detail: str) -> Figure:
    unit, without = ("", "") if total.usd_per_hour is None else ("an hour", "without ")
    unknown = f", {without}{count(total.unknown, 'unknown price')}" if total.unknown else ""
    return Figure(total.name, total.amount(), unit, f"{detail}{unknown}", "plain")


def _changed_cost_figure(total: Total) -> Figure:
    if total.change is None:
        return replace(_cost_figure(total, "change unknown"), tone="careful")
    words = total.change_an_hour(" an hour")
    if total.unknown_changes:
        return replace(_cost_figure(total, words), detail=words, tone="careful")
    tone: Tone = "plain" if total.change == 0 else "careful" if total.change > 0 else "good"
    return replace(_cost_figure(total, words), tone=tone)


def _cost_change(total: Total) -> str:
    name = total.name.lower()
    return f"{name} change unknown" if total.change is None else f"{name} {total.change_an_hour('/h')}"
