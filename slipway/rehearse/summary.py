"""What the terminal shows at the end of a rehearsal, below the line of each phase: about ten lines."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from slipway.rehearse.folder import RunFolder
from slipway.rehearse.report import Report
from slipway.review.report.wording import count

_BEHIND = {
    "api": "API objects",
    "lambda": "run by Lambda code",
    "nested": "nested stacks",
    "record": "only written down",
}


def print_summary(report: Report, folder: RunFolder, console: Console) -> None:
    """Print what failed first, the figures, where the whole report is, and the verdict as the last line."""
    lines = [*first_cause(report, folder.root), *_figures(report)]
    for line in ("", *lines, f"report: {folder.page} (as text: {folder.text_report}; as data: {folder.report})"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    style = "green" if report.outcome == "passed" else "bold red"
    console.print(Text(report.verdict, style=style), soft_wrap=True)


def first_cause(report: Report, root: Path) -> Iterator[str]:
    """Yield what failed first and where to read on; nothing when the rehearsal did not fail.

    Args:
        report: the report.
        root: folder that its logs are in.
    """
    phase = next((phase for phase in report.phases if phase.outcome == "failed"), None)
    if phase is None:
        return
    # What fails later, while it is destroyed, is a consequence.
    resource = next((failure for failure in report.failures if failure.logical_id in phase.detail), None)
    if resource is not None:
        what = f"{resource.stack}/{resource.logical_id} ({resource.type}): {resource.reason}"
    else:
        what = phase.detail
    yield f"failed first, in `{phase.title}`: {what}"
    if phase.log:
        yield f"read: {root / phase.log}"


def _figures(report: Report) -> Iterator[str]:
    created: Counter[str] = Counter()
    for kind in report.types:
        created.update(kind.backing)
    if created:
        behind = ", ".join(f"{created[key]} {words}" for key, words in _BEHIND.items() if created[key])
        stacks = len(report.stacks)
        yield (
            f"created: {count(created.total(), 'resource')} of {count(len(report.types), 'type')} in "
            f"{count(stacks, 'stack')}, with what `cdk bootstrap` makes: {behind}"
        )
    changed = sum(stack.updated + stack.replaced for stack in report.stacks)
    if changed:
        yield f"updated or replaced: {count(changed, 'resource')}"
    allowed = report.permissions
    yield (
        f"permissions: {count(allowed.checks, 'check')} of {count(allowed.principals, 'principal')}, "
        f"{len(allowed.denials)} denied; {allowed.named} on a named resource, {allowed.any} on *, "
        f"{allowed.action_only} of the action alone"
    )
    unproven = report.not_rehearsed
    yield (
        f"not proven: {count(len(unproven.records), 'resource')} only written down, properties of "
        f"{count(len(unproven.unmapped), 'type')} without a home, {count(len(unproven.held_back), 'part')} held back, "
        f"{count(len(unproven.deviations), 'difference')} from AWS bridged"
    )
    if report.leftovers:
        unexpected = sum(not left.documented for left in report.leftovers)
        yield f"left: {count(len(report.leftovers), 'thing')}, {unexpected} of them unexpected"
    yield f"took {report.seconds:.0f} s here; AWS takes longer: `slipway plan -e {report.environment}` estimates it"
