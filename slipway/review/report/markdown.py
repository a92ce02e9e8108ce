"""The plan as a comment of a pull request, in GitHub Flavored Markdown."""

import re
from collections.abc import Iterator

from slipway.review.plan import Plan
from slipway.review.report import changed_lines
from slipway.review.report.cost_rows import PERIODS, totals
from slipway.review.report.headline import look_first, summary, title
from slipway.review.report.markdown_blocks import blocks
from slipway.review.report.markdown_text import code, prose
from slipway.review.report.shortening import fitted
from slipway.review.report.verdict import TITLE, harms

LONGEST = 65_536
"""Characters that GitHub takes in a comment: its API answers `body is too long (maximum is 65536 characters)`."""

_NO_NAME = re.compile(r"[^A-Za-z0-9._-]")


def marker(environment: str) -> str:
    """Return the comment's first line, by which the next run finds the comment that it replaces."""
    return f"<!-- slipway-plan:{_NO_NAME.sub('-', environment)} -->"


def markdown(plan: Plan) -> str:
    """Return the comment: a line that says all, what to look at first, and the rest folded.

    It is never longer than GitHub takes. What does not fit is left out, the least important first, and a line near the
    top says what that is.
    """
    head = "\n".join((marker(plan.environment), *_head(plan)))
    return fitted(head, list(blocks(plan)), LONGEST)


def _head(plan: Plan) -> Iterator[str]:
    comparison = plan.comparison
    yield f"### {prose(title(plan))}"
    yield ""
    compared = f" compared with {code(comparison.base)}" if comparison else ""
    found = harms(plan)
    if found:
        # An alert, which GitHub draws in red: https://docs.github.com/en/get-started/writing-on-github
        yield f"> [!CAUTION]\n> **{TITLE}**"
        yield from (f"> - **{prose(harm.what)}.** {prose(harm.instead)}" for harm in found)
        yield ""
    yield from _lines(plan)
    line = summary(plan)
    yield f"{prose(line[:1].upper() + line[1:])}."
    yield ""
    yield f"{code(plan.head)}{compared}, {prose(plan.region)}."
    yield ""
    yield from (f"> {prose(note)}\n" for note in plan.notes)
    yield from _totals(plan)
    first = look_first(plan)
    if first:
        yield "\n**Look at this first**\n"
        yield from (f"- {prose(what)}" for what, _ in first)


def _lines(plan: Plan) -> Iterator[str]:
    told = changed_lines.told(plan)
    if not told:
        return
    yield f"**{changed_lines.TITLE}**: {prose(changed_lines.introduction(plan))}"
    yield ""
    for line in told:
        if line.place:
            arrow = "\N{RIGHTWARDS ARROW}"
            yield f"- {line.place}: {code(line.name)}: {code(line.before)} {arrow} {code(line.after)}"
        else:
            yield f"- {prose(line.name)}"
        yield from (f"  - **{prose(phrase)}**" for phrase in line.bad)
        if line.effects:
            yield f"  - {prose('; '.join(line.effects))}"
    yield ""


def _totals(plan: Plan) -> Iterator[str]:
    is_compared = plan.comparison is not None
    titles = ["Cost", *(f"a {period}" if period != "hour" else "an hour" for period, _ in PERIODS)]
    titles += ["change an hour"] if is_compared else []
    yield f"| {' | '.join(titles)} |"
    yield f"| --- |{' ---: |' * (len(titles) - 1)}"
    for total in totals(plan.cost, plan.comparison.cost if plan.comparison else None):
        cells = [total.name.lower(), *(total.amount(hours) for _, hours in PERIODS)]
        cells += [total.change_an_hour()] if is_compared else []
        yield f"| {' | '.join(cells)} |"
