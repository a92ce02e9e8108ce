"""What one side of a change does to another, of all that the whole change does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slipway.assembly.stacks import Stack, read_stacks
from slipway.review.changes.compare import compare
from slipway.review.changes.model import Changes, ResourceChange, WiderAccess
from slipway.review.cluster_verdict import cluster_update
from slipway.review.cost.estimate import estimate as cost_of
from slipway.review.deploy_time.estimate import estimate as deploy_time_of
from slipway.review.plan import Comparison, Consequences, Plan, Verdict
from slipway.review.report.cost_rows import totals

_STOPPING: frozenset[Verdict] = frozenset({"cannot_update", "nodes_must_stop"})
_CENT = 0.01


@dataclass(frozen=True)
class Side:
    """An environment, synthesized."""

    assembly: Path
    stacks: tuple[Stack, ...]

    @classmethod
    def of(cls, assembly: Path) -> "Side":
        """Read a cloud assembly."""
        return cls(assembly, read_stacks(assembly))


def consequences(before: Side, after: Side, whole: Comparison, directory: Path) -> Consequences:
    """Return what the step from one side to another causes, of all that the whole change does.

    Args:
        before: what is there without this part of the change.
        after: what is there with it.
        whole: the comparison of the whole change.
        directory: where ParallelCluster's question and answer are kept.
    """
    changes = compare(before.stacks, after.stacks)
    idle, peak = totals(cost_of(after.stacks), cost_of(before.stacks))
    verdict = _stopping(whole)
    if verdict:
        update = cluster_update(before.stacks, after.stacks, directory)
        verdict = verdict if update and update.verdict == verdict else None
    seconds = deploy_time_of(after.assembly, changes.waited_for).seconds
    return Consequences(
        changes=_some(changes, _Parts.of([whole.changes]).has),
        idle_usd_per_hour=idle.change,
        peak_usd_per_hour=peak.change,
        deploy_seconds=None if verdict == "cannot_update" else seconds,
        cluster_update=verdict,
    )


def together(plan: Plan, whole: Comparison, parts: Sequence[Consequences]) -> Consequences | None:
    """Return what only the whole change causes. None if its parts explain everything.

    Args:
        plan: what is planned.
        whole: its comparison.
        parts: what each part causes.
    """
    idle, peak = totals(plan.cost, whole.cost)
    told = _Parts.of([part.changes for part in parts])
    rest = Consequences(
        changes=_some(whole.changes, lambda item: not told.has(item)),
        idle_usd_per_hour=_rest(idle.change, [part.idle_usd_per_hour for part in parts]),
        peak_usd_per_hour=_rest(peak.change, [part.peak_usd_per_hour for part in parts]),
        cluster_update=None if any(part.cluster_update for part in parts) else _stopping(whole),
    )
    return None if rest.is_empty else rest


def _stopping(whole: Comparison) -> Verdict | None:
    """Return ParallelCluster's verdict on the whole change where it stops the deployment."""
    update = whole.cluster_update
    return update.verdict if update and update.verdict in _STOPPING else None


_Item = ResourceChange | WiderAccess | str
"""Of what changes consist; text is the name of a stack, or a resource whose uploaded file changes."""


@dataclass(frozen=True)
class _Parts:
    """What parts of a change have, to be looked up."""

    resources: frozenset[tuple[str, str, str, bool]]
    others: frozenset[WiderAccess | str]

    @classmethod
    def of(cls, parts: Sequence[Changes]) -> "_Parts":
        others: set[WiderAccess | str] = set()
        for part in parts:
            others.update(part.broadenings, part.asset_changes, part.added_stacks, part.removed_stacks)
        return cls(frozenset(_identity(change) for part in parts for change in part.resources), frozenset(others))

    def has(self, item: _Item) -> bool:
        return _identity(item) in self.resources if isinstance(item, ResourceChange) else item in self.others


def _identity(change: ResourceChange) -> tuple[str, str, str, bool]:
    return change.stack, change.logical_id, change.effect, change.loses_data


def _some(changes: Changes, is_wanted: Callable[[_Item], bool]) -> Changes:
    """Return some of what changes; resources without what the plan has anyway."""
    return Changes(
        added_stacks=tuple(filter(is_wanted, changes.added_stacks)),
        removed_stacks=tuple(filter(is_wanted, changes.removed_stacks)),
        resources=tuple(
            change.model_copy(update={"properties": (), "notes": ()}) for change in filter(is_wanted, changes.resources)
        ),
        broadenings=tuple(filter(is_wanted, changes.broadenings)),
        asset_changes=tuple(filter(is_wanted, changes.asset_changes)),
    )


def _rest(whole: float | None, parts: Sequence[float | None]) -> float | None:
    """Return the dollars that the parts do not explain; less than a cent counts as 0. None if one is unknown."""
    known = [part for part in parts if part is not None]
    if whole is None or len(known) < len(parts):
        return None
    rest = whole - sum(known)
    return rest if abs(rest) >= _CENT else 0.0
