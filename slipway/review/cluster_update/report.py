"""What the command prints: a table of the changes, and what to do about them in words."""

import json
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from slipway.review.cluster_update.comparison import Comparison, Verdict
from slipway.review.judge.inside_parallelcluster.update_answer import Change, Stop
from slipway.terminal import Fitted

_LONGEST_VALUE = 60
_STRATEGIES = {
    "DRAIN": "their nodes finish their jobs and are replaced then",
    "TERMINATE": "their nodes are terminated, with the jobs on them",
}
_COLOURS = {Verdict.POSSIBLE: "green", Verdict.NEEDS_STOP: "yellow", Verdict.REFUSED: "red"}
_PCLUSTER = ".tools/parallelcluster/bin/pcluster"


def sentences(comparison: Comparison) -> tuple[str, ...]:
    """Return what the verdict rests on and what to do, for reports of other commands that show the verdict itself."""
    unnoticed = comparison.verdict is Verdict.POSSIBLE and not (comparison.same or comparison.noticed)
    return (
        *([_verdict(comparison)] if unnoticed else []),
        *comparison.refusals,
        *_reasons(comparison),
        *_what_to_do(comparison),
        *_notes(comparison),
    )


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print every change, the verdict and what to do."""
    if comparison.update.changes:
        console.print(Fitted(_table(comparison)))
    colour = _COLOURS[comparison.verdict]
    console.print(f"[{colour}]{escape(_verdict(comparison))}[/]")
    for line in (*comparison.refusals, *_reasons(comparison)):
        console.print(f"  - {line}", markup=False, highlight=False, soft_wrap=True)
    for line in (*_what_to_do(comparison), *_notes(comparison)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _table(comparison: Comparison) -> Table:
    table = Table(
        title=f"cluster {comparison.cluster}, deployed -> wanted", title_justify="left", box=None, padding=(0, 2, 0, 0)
    )
    table.add_column("field", overflow="fold")
    table.add_column("while nodes run: ParallelCluster's policy")
    for change in comparison.update.changes:
        field = f"{change.path}\n  {shown(change.old)} -> {shown(change.new)}"
        table.add_row(escape(field), escape(f"{possible(change)}\n  {change.policy}"))
    return table


def shown(value: Any) -> str:
    """Return a value for a cell: an item of a list by its name, a long value by its beginning."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        value = next((value[key] for key in ("Name", "Key", "Policy") if key in value), value)
    if isinstance(value, str):
        return value
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def possible(change: Change) -> str:
    """Return in a few words when a change is possible."""
    if not change.allowed:
        return "refused"
    if change.stop:
        return f"{' and '.join(change.stop)} stopped first"
    return "yes, by the queue update strategy" if change.by_strategy else "yes"


def _verdict(comparison: Comparison) -> str:
    match comparison.verdict:
        case Verdict.REFUSED:
            return f"The update of {comparison.cluster} would be refused:"
        case Verdict.NEEDS_STOP:
            return f"The update of {comparison.cluster} needs stopped nodes ({' and '.join(comparison.update.stop)}):"
    if comparison.same:
        return f"The configuration of {comparison.cluster} does not change."
    if not comparison.noticed:
        return (
            f"ParallelCluster does not notice the change of {comparison.cluster}: it waits for an update with another."
        )
    return f"The update of {comparison.cluster} is possible while all nodes run."


def _reasons(comparison: Comparison) -> Iterator[str]:
    for change in comparison.update.changes:
        if change.reason:
            yield f"{change.path}: {change.reason}. {change.action}"
        if change.passes_provider:
            yield (
                f"{change.path}: the provider does not notice, because it reads the text 'false' as true; the "
                "placement group is not deleted while instances run in it"
            )


def _what_to_do(comparison: Comparison) -> Iterator[str]:
    if comparison.verdict is Verdict.REFUSED:
        yield (
            f"Revert the change, or rebuild the cluster: cdk destroy {comparison.stack}, then deploy. /fsx stays; "
            "volumes of the head node go where their deletion_policy says. Or build another environment beside this "
            "one, with a name and a cluster_name of its own."
        )
        return
    if Stop.LOGIN_NODES in comparison.update.stop:
        yield "Login nodes: write training.login_nodes.count: 0 and deploy that alone, then make this change."
    if Stop.COMPUTE_FLEET in comparison.update.stop:
        of_cluster = f"--region {comparison.region} --cluster-name {comparison.cluster}"
        yield (
            "Compute fleet: stop it, which ends its jobs; deploy when it is STOPPED; start it again:\n"
            f"  {_PCLUSTER} update-compute-fleet {of_cluster} --status STOP_REQUESTED\n"
            f"  {_PCLUSTER} describe-compute-fleet {of_cluster}\n"
            f"  {_PCLUSTER} update-compute-fleet {of_cluster} --status START_REQUESTED"
        )


def _notes(comparison: Comparison) -> Iterator[str]:
    if comparison.verdict is Verdict.REFUSED:
        return
    if any(change.by_strategy for change in comparison.update.changes):
        yield f"Queues that change, by {comparison.strategy}: {_STRATEGIES[comparison.strategy]}."
    if comparison.scripts_change:
        head_node = (
            "The head node runs them in this update (OnNodeUpdated)."
            if comparison.noticed
            else "The head node does not: ParallelCluster runs OnNodeUpdated only when the configuration changes."
        )
        yield f"The node scripts change under the same keys: compute nodes launched from then on run them. {head_node}"
