"""What a reviewer must see first."""

from dataclasses import dataclass
from typing import Literal

from slipway.plan.plan import Plan
from slipway.plan.report.causes import causes, own_path
from slipway.plan.report.cost_rows import totals
from slipway.plan.report.wording import EFFECT_WORDS, VERDICT_WORDS, count, duration, usd, usd_change

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
    cost, time, comparison = plan.cost, plan.deploy_time, plan.comparison
    idle = Figure("Idle", usd(cost.idle_usd_per_hour), "an hour", "while nobody uses it", "plain")
    peak = Figure("Peak", usd(cost.peak_usd_per_hour), "an hour", "when all that may run does", "plain")
    if comparison is None:
        findings = len(plan.security.findings)
        tone: Tone = "bad" if findings else "good"
        return (
            idle,
            peak,
            Figure("First deployment", duration(time.seconds), "", "of everything", "plain"),
            Figure("Security findings", f"{findings:,}", "", "not acknowledged", tone),
        )
    before = comparison.cost
    replaced = len(comparison.changes.with_effect("replace", "may_replace"))
    gone = len(comparison.changes.with_effect("remove", "orphan"))
    lost = sum(change.loses_data for change in comparison.changes.resources)
    wider = len(comparison.changes.broadenings)
    return (
        _with_change(idle, cost.idle_usd_per_hour - before.idle_usd_per_hour),
        _with_change(peak, cost.peak_usd_per_hour - before.peak_usd_per_hour),
        Figure("This deployment", duration(comparison.deploy_time.seconds), "", "to deploy", "plain"),
        Figure(
            "Replaced", f"{replaced:,}", "", f"and {gone:,} deleted or left behind", "careful" if replaced else "good"
        ),
        Figure("Loses data", f"{lost:,}", "", "resources whose data goes", "bad" if lost else "good"),
        Figure("Broader access", f"{wider:,}", "", "new permissions or openings", "bad" if wider else "good"),
    )


def summary(plan: Plan) -> str:
    """Return the plan in a line, the most alarming first."""
    cost = f"idle {usd(plan.cost.idle_usd_per_hour)}/h, peak {usd(plan.cost.peak_usd_per_hour)}/h"
    if plan.comparison is None:
        findings = count(len(plan.security.findings), "security finding")
        return f"{cost}; first deployment {duration(plan.deploy_time.seconds)}; {findings}"
    comparison = plan.comparison
    changes = comparison.changes
    if changes.is_empty:
        return f"nothing changes; {cost}"
    lost = sum(change.loses_data for change in changes.resources)
    replaced = len(changes.with_effect("replace", "may_replace"))
    new_findings = len(comparison.security.new)
    changed = [
        f"{total.name.lower()} {usd_change(total.change)}/h"
        for total in totals(plan.cost, comparison.cost)
        if usd_change(total.change) != "no change"
    ]
    pieces = (
        f"{count(lost, 'resource')} {'loses' if lost == 1 else 'lose'} data" if lost else "",
        f"{replaced:,} replaced" if replaced else "",
        count(len(changes.broadenings), "broadening") if changes.broadenings else "",
        count(new_findings, "new security finding") if new_findings else "",
        f"{count(len(changes.resources), 'resource')} touched",
        ", ".join(changed) or "the same cost",
        f"deploys in {duration(comparison.deploy_time.seconds)}",
    )
    return "; ".join(piece for piece in pieces if piece)


def look_first(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return what a reviewer should look at before all else, each with the section of the page that tells more."""
    comparison = plan.comparison
    found: list[tuple[str, str]] = []
    if comparison:
        for cause in causes(comparison.changes):
            change = cause.change
            if cause.loses_data or change.effect in {"replace", "may_replace", "remove", "orphan"}:
                lost = " and loses data" if cause.loses_data else ""
                follow = f", and {len(cause.follow):,} that follow it" if cause.follow else ""
                found.append(
                    (f"{own_path(change)} is {EFFECT_WORDS[change.effect]}{lost}{follow}", f"stack-{change.stack}")
                )
        found += [(f"Broader access: {broadening.what}", "access") for broadening in comparison.changes.broadenings]
        update = comparison.cluster_update
        if update and update.verdict in {"cannot_update", "nodes_must_stop", "not_known"}:
            found.append((VERDICT_WORDS[update.verdict], "cluster"))
        if comparison.security.new:
            found.append((count(len(comparison.security.new), "new security finding"), "security"))
    elif plan.security.findings:
        found.append((count(len(plan.security.findings), "security finding"), "security"))
    if plan.cost.unknown:
        found.append((f"{count(len(plan.cost.unknown), 'cost line')} without a known price", "cost"))
    return tuple(found)


def _with_change(figure: Figure, change: float) -> Figure:
    text = usd_change(change)
    tone: Tone = "plain" if text == "no change" else "careful" if change > 0 else "good"
    return Figure(figure.name, figure.value, figure.unit, text if text == "no change" else f"{text} an hour", tone)
