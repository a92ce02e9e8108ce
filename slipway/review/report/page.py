"""The plan as one HTML page that needs nothing else: no script, no font, no request."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from slipway.review.changes.model import PropertyChange
from slipway.review.deploy_time.model import DeployTime, Step
from slipway.review.plan import Plan, Verdict
from slipway.review.report import changed_lines, drift, wider_access
from slipway.review.report.architecture.difference import Mark, marks, with_removed
from slipway.review.report.architecture.model import Architecture, Part
from slipway.review.report.causes import Cause, causes, own_path
from slipway.review.report.cost_rows import PERIODS, Total, cost_rows, sums, totals
from slipway.review.report.headline import figures, look_first, summary
from slipway.review.report.not_checked import not_checked
from slipway.review.report.picture.svg import STYLE, flow_sentences, picture
from slipway.review.report.verdict import TITLE, harms, is_refused
from slipway.review.report.wording import (
    BILLING_WORDS,
    EFFECT_WORDS,
    VERDICT_WORDS,
    count,
    duration,
    per_hour,
    printable,
    usd,
    usd_change,
    values,
)

_TEMPLATES = Path(__file__).parent / "templates"
STYLE_SHEET = _TEMPLATES / "page.css"
"""The look of all of Slipway's pages."""

_LONGEST_VALUE = 400
_LONGEST_IN_LINE = 80
"""Characters of a value that is not folded."""

_SEPARATOR = re.compile(r"([/.\]:_#=]|(?<=[a-z\d])(?=[A-Z]))(?=\w)")
_VERDICT_TONES: dict[Verdict, str] = {
    "cannot_update": "bad",
    "nodes_must_stop": "careful",
    "not_known": "careful",
    "can_update": "good",
    "no_change": "good",
}


@dataclass(frozen=True)
class _Section:
    id: str
    title: str


@dataclass(frozen=True)
class _News:
    word: str
    tone: str


@dataclass(frozen=True)
class _StackView:
    name: str
    news: _News | None
    sums: tuple[Total, ...]
    parts: tuple[str, ...]
    causes: tuple[Cause, ...]
    assets: tuple[str, ...]

    @property
    def is_changed(self) -> bool:
        return bool(self.news or self.causes or self.assets)


@dataclass(frozen=True)
class _Bar:
    step: Step
    start: float
    length: float


@dataclass(frozen=True)
class _Time:
    title: str
    time: DeployTime
    bars: tuple[_Bar, ...]


def page(plan: Plan, architecture: Architecture, base_architecture: Architecture | None) -> str:
    """Return the page.

    Args:
        plan: what it says.
        architecture: of what is planned (slipway.review.report.architecture).
        base_architecture: of what the plan compares with; None when it compares with nothing.
    """
    found: Mapping[str, Mark] = {}
    drawn = architecture
    if plan.comparison and base_architecture:
        found = marks(architecture, base_architecture, plan.comparison.changes)
        drawn = with_removed(architecture, base_architecture)
    is_compared = plan.comparison is not None
    rows = cost_rows(plan.cost, plan.comparison.cost if plan.comparison else None)
    priced = [row for row in rows if row.billing in {"priced", "unknown"}]
    rendered = (
        _environment(drawn)
        .get_template("page.html.j2")
        .render(
            plan=plan,
            comparison=plan.comparison,
            summary=summary(plan),
            figures=figures(plan),
            look_first=look_first(plan),
            harms=harms(plan),
            verdict_title=TITLE,
            sections=_sections(plan),
            changed_lines=changed_lines,
            lines=changed_lines.told(plan),
            drift=drift,
            architecture=drawn,
            marks=found,
            pictures=_pictures(drawn, found),
            flows=flow_sentences(drawn),
            stacks=_stacks(plan, drawn),
            rows=rows,
            shown_rows=[row for row in priced if not row.is_minor(is_compared=is_compared)],
            minor_rows=[row for row in priced if row.is_minor(is_compared=is_compared)],
            periods=[(_period(name), hours) for name, hours in PERIODS],
            wider_access=wider_access,
            totals=totals(plan.cost, plan.comparison.cost if plan.comparison else None),
            times=_times(plan),
            not_checked=not_checked(plan),
            style=Markup(STYLE_SHEET.read_text(encoding="utf-8") + STYLE.read_text(encoding="utf-8")),
            effect_words=EFFECT_WORDS,
            verdict_words=VERDICT_WORDS,
            verdict_tones=_VERDICT_TONES,
            billing_words=BILLING_WORDS,
        )
    )
    return f"{rendered}\n"


def _environment(architecture: Architecture) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda shown: printable(shown) if type(shown) is str else shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    homes = {
        subnet.id: f"{subnet.zone} ({'public' if subnet.is_public else 'private'})" for subnet in architecture.subnets
    }
    environment.filters |= {
        "usd": usd,
        "usd_change": usd_change,
        "duration": duration,
        "per_hour": per_hour,
        "count": count,
        "own_path": own_path,
        "before_and_after": lambda changed: values(changed.before, changed.after, _LONGEST_VALUE),
        "short_and_long": _short_and_long,
        "breakable": _breakable,
        "subnet_words": lambda subnet: homes.get(subnet, subnet),
        "direction": _direction,
        "capitalized": lambda text: text[:1].upper() + text[1:],
    }
    return environment


def _sections(plan: Plan) -> list[_Section]:
    comparison = plan.comparison
    sections = [("summary", "Summary")]
    if changed_lines.told(plan):
        sections.append(("lines", changed_lines.TITLE))
    sections.append(("architecture", "Architecture"))
    if plan.drift:
        sections.append(("drift", drift.SHORT_TITLE))
    sections.append(("stacks", "Changes by stack" if comparison else "Stacks"))
    if comparison:
        sections.append(("access", wider_access.SHORT_TITLE))
        if comparison.cluster_update:
            sections.append(("cluster", "Cluster update"))
    sections += [("security", "Security"), ("cost", "Cost"), ("time", "Deploy time"), ("unchecked", "Not checked")]
    return [_Section(*section) for section in sections]


def _pictures(architecture: Architecture, found: Mapping[str, Mark]) -> dict[str, Markup]:
    def link(part: Part) -> str | None:
        return f"#stack-{part.stack}" if part.stack else None

    return {
        "wide": Markup(picture(architecture, found, link=link)),
        "narrow": Markup(picture(architecture, found, is_narrow=True, link=link)),
    }


def _stacks(plan: Plan, architecture: Architecture) -> list[_StackView]:
    changes = plan.comparison.changes if plan.comparison else None
    found = causes(changes) if changes else ()
    removed = changes.removed_stacks if changes else ()
    names = list(dict.fromkeys((*architecture.stacks, *removed, *(cause.change.stack for cause in found))))
    return [
        _StackView(
            name=name,
            news=_news(name, plan),
            sums=sums(line for line in plan.cost.lines if line.stack == name),
            parts=tuple(part.title for part in architecture.parts if part.stack == name),
            causes=tuple(cause for cause in found if cause.change.stack == name),
            assets=tuple(
                asset.partition("/")[2]
                for asset in (changes.asset_changes if changes else ())
                if asset.partition("/")[0] == name
            ),
        )
        for name in names
    ]


def _news(stack: str, plan: Plan) -> _News | None:
    changes = plan.comparison.changes if plan.comparison else None
    if changes and stack in changes.added_stacks:
        return _News("new stack", "add")
    if changes and stack in changes.removed_stacks:
        return _News("deleted stack", "remove")
    return None


def _short_and_long(properties: tuple[PropertyChange, ...]) -> tuple[list[PropertyChange], list[PropertyChange]]:
    """Return the properties that a line shows, and those whose values a reader unfolds."""
    short: list[PropertyChange] = []
    long: list[PropertyChange] = []
    for changed in properties:
        is_short = all(
            len(value) <= _LONGEST_IN_LINE for value in values(changed.before, changed.after, _LONGEST_VALUE)
        )
        (short if is_short else long).append(changed)
    return short, long


def _direction(change: float | None) -> str:
    return "up" if change and change > 0 else "down" if change else ""


def _breakable(path: str) -> Markup:
    """Return a text that a line may be broken in, after each separator of a path and before each word of a name."""
    return Markup("<wbr>").join(_SEPARATOR.sub("\\1\0", printable(path)).split("\0"))


def _period(name: str) -> str:
    return {"hour": "An hour", "day": "A day", "month": "A month"}[name]


def _times(plan: Plan) -> list[_Time]:
    first = _Time("The first deployment, of everything", plan.deploy_time, _bars(plan.deploy_time))
    if plan.comparison is None:
        return [first]
    time = plan.comparison.deploy_time
    title = "This change, if the cluster's update were possible" if is_refused(plan) else "This change"
    return [_Time(title, time, _bars(time)), first]


def _bars(time: DeployTime) -> tuple[_Bar, ...]:
    total = sum(step.seconds for step in time.chain) or 1
    bars = []
    start = 0
    for step in time.chain:
        bars.append(_Bar(step, round(100 * start / total, 2), max(round(100 * step.seconds / total, 2), 0.5)))
        start += step.seconds
    return tuple(bars)
