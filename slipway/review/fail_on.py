"""What `slipway plan --fail-on` fails on: conditions that a pipeline stops at."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from slipway.review.changes.model import Effect
from slipway.review.errors import NotPlannedError
from slipway.review.plan import Comparison, Plan
from slipway.review.report import drift
from slipway.review.report.cost_rows import totals

COST = "cost"
"""Written `cost=PERCENT`: by how much idle or peak cost may grow."""


@dataclass(frozen=True)
class Condition:
    """One thing that a plan may be refused for."""

    meaning: str
    """What is found, for the documentation and the help."""

    find: Callable[[Comparison], Iterable[str]]
    """Yields what is found, a line each."""


def _with_effect(effect: Effect) -> Callable[[Comparison], Iterator[str]]:
    def find(comparison: Comparison) -> Iterator[str]:
        found = comparison.changes.with_effect(effect)
        named = {f"{change.stack}/{change.logical_id}" for change in found}
        for change in found:
            # What another resource's replacement causes is named there; an update in place can cause one too.
            if change.caused_by not in named:
                yield f"{change.stack}/{change.logical_id} ({change.type})"

    return find


def _data_loss(comparison: Comparison) -> Iterator[str]:
    for change in comparison.changes.resources:
        if change.loses_data:
            yield f"{change.stack}/{change.logical_id} ({change.type}) loses its data"


def _wider_access(comparison: Comparison) -> Iterator[str]:
    for wider in comparison.changes.broadenings:
        yield f"{wider.stack}/{wider.resource}: {wider.what}"


def _security(comparison: Comparison) -> Iterator[str]:
    for tool in comparison.security.not_run:
        yield f"{tool} did not run on both sides, so its findings are unknown"
    for finding in comparison.security.new:
        yield f"{finding.stack}/{finding.resource}: {finding.tool}, {finding.rule}: {finding.message}"
    for entry in comparison.security.new_acknowledgements:
        yield f"{entry.stack}/{entry.resource}: accepts {entry.rule}: {entry.reason}"


def _cluster_update(comparison: Comparison) -> Iterator[str]:
    update = comparison.cluster_update
    if update and update.verdict not in ("no_change", "can_update"):
        yield ": ".join((update.verdict.replace("_", " "), *update.lines[:1]))


CONDITIONS: dict[str, Condition] = {
    "replace": Condition("a resource is replaced", _with_effect("replace")),
    "may-replace": Condition("a resource may be replaced: only the deployment can tell", _with_effect("may_replace")),
    "remove": Condition("a resource is deleted", _with_effect("remove")),
    "data-loss": Condition("data goes that cannot be recovered", _data_loss),
    "broadening": Condition(
        "someone or something may do or reach more than before, or less protects what is there", _wider_access
    ),
    "security": Condition("a scanner finds something new or did not run, or a finding is newly accepted", _security),
    "cluster-update": Condition(
        "ParallelCluster cannot update the cluster while its nodes run, or it could not be asked", _cluster_update
    ),
}
"""By the name that `--fail-on` takes; `cost=PERCENT`, `drift` and `unpriced` besides."""

UNPRICED = "unpriced"
"""Something bills at a price that the facts do not have: the sums are too low. Needs nothing to compare with."""

DRIFT = "drift"
"""Something was changed outside of CloudFormation, or it could not compare everything. Needs `--drift`."""


class FailOn:
    """The conditions that the user chose."""

    def __init__(self, text: str) -> None:
        """Read a list such as `replace,data-loss,cost=20`.

        Raises:
            NotPlannedError: a condition that is none, or `cost` without a percentage; all of them at once.
        """
        chosen = dict.fromkeys(word.strip() for word in text.split(",") if word.strip())
        self.names = tuple(name for name in chosen if name in CONDITIONS)
        self.unpriced = UNPRICED in chosen
        self.drift = DRIFT in chosen
        growths = {word: _percentage(word) for word in chosen if word.partition("=")[0] == COST}
        unknown = (
            chosen.keys()
            - CONDITIONS.keys()
            - {UNPRICED, DRIFT}
            - {word for word, value in growths.items() if value is not None}
        )
        if unknown:
            known = ", ".join((*CONDITIONS, DRIFT, UNPRICED, f"{COST}=PERCENT"))
            raise NotPlannedError(f"--fail-on {','.join(sorted(unknown))}: the conditions are {known}")
        self.growth_percent = min((value for value in growths.values() if value is not None), default=None)

    @property
    def needs_comparison(self) -> bool:
        """Whether a condition is about a change, which needs a base."""
        return bool(self.names) or self.growth_percent is not None

    def found(self, plan: Plan) -> tuple[str, ...]:
        """Return what the plan is refused for, a line each with the condition in front."""
        return tuple(self._found(plan))

    def _found(self, plan: Plan) -> Iterator[str]:
        if plan.comparison:
            for name in self.names:
                yield from (f"{name}: {line}" for line in CONDITIONS[name].find(plan.comparison))
            yield from self._growth(plan, plan.comparison)
        elif self.needs_comparison:
            yield f"not compared: {plan.not_compared}"
        if self.drift and plan.drift:
            yield from (f"{DRIFT}: {line}" for line in (*drift.lines(plan.drift), *plan.drift.not_compared))
        if self.unpriced:
            for line in plan.cost.unknown:
                yield f"{UNPRICED}: {line.stack}/{line.logical_id}: {line.what}"

    def _growth(self, plan: Plan, comparison: Comparison) -> Iterator[str]:
        if self.growth_percent is None:
            return
        word = f"{COST}={self.growth_percent:g}"
        for total, before in zip(totals(plan.cost, comparison.cost), totals(comparison.cost, None), strict=True):
            name, paid = total.name.lower(), before.usd_per_hour or 0.0
            most, change = paid * self.growth_percent / 100, total.change or 0.0
            # Sums of the same prices in another order differ in the last digit.
            if change > most and not math.isclose(paid + change, paid + most, rel_tol=1e-9):
                yield f"{word}: {name} ${paid:,.2f} -> ${paid + change:,.2f} an hour"
            if total.unknown_changes:
                yield f"{word}: {name}: {total.unknown_changes} of what changes has no known price on one side"


def _percentage(word: str) -> float | None:
    try:
        value = float(word.partition("=")[2].removesuffix("%"))
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None
