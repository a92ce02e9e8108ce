"""What an alarm compares with its threshold, and for which values it fires."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import product

from slipway import facts
from slipway.review.changes.resources import Resource
from slipway.review.wiring.expressions import UnreadableExpressionError
from slipway.review.wiring.metric_uses import ALARM, ExpressionUse, MetricUse, Uses, uses_of
from slipway.review.wiring.metrics import known
from slipway.review.wiring.resources import Resources, rows

ABOVE = {"GreaterThanThreshold", "GreaterThanOrEqualToThreshold"}
BELOW = {"LessThanThreshold", "LessThanOrEqualToThreshold"}
"""Comparison operators."""


@dataclass(frozen=True, eq=False)
class Compared:
    """What an alarm compares with its threshold."""

    alarm: Resource
    uses: Uses
    resources: Resources

    @property
    def operator(self) -> str:
        """`ComparisonOperator`."""
        return str(self.alarm.properties.get("ComparisonOperator"))

    @property
    def threshold(self) -> float | None:
        """`Threshold`; None if it has none, or a parameter decides it."""
        found = self.alarm.properties.get("Threshold")
        return float(found) if isinstance(found, int | float) else None

    @property
    def expression(self) -> ExpressionUse | None:
        """The metric math that is compared; None where a metric or a query is."""
        for expression in self.uses.expressions:
            if expression.returned and expression.math():
                return expression
        return None

    @property
    def fires_below(self) -> bool:
        """Whether it fires for values that are too small."""
        return self.operator in BELOW

    @property
    def datapoints_of_periods(self) -> tuple[int, int]:
        """`DatapointsToAlarm` and `EvaluationPeriods`; 1 and 1 if a parameter decides them."""
        given = self.alarm.properties
        periods, needed = given.get("EvaluationPeriods", 1), given.get("DatapointsToAlarm")
        needed = periods if needed is None else needed
        known_counts = str(periods).isdecimal() and str(needed).isdecimal()
        return (int(needed), int(periods)) if known_counts else (1, 1)

    def fires(self, value: float | None) -> bool:
        """Return whether it fires for a value; None is no data."""
        threshold = self.threshold
        if value is None or threshold is None:
            return False
        match self.operator:
            case "GreaterThanThreshold":
                return value > threshold
            case "GreaterThanOrEqualToThreshold":
                return value >= threshold
            case "LessThanThreshold":
                return value < threshold
            case _:
                return value <= threshold

    def outcomes(self, silent: Collection[str] = ()) -> list[tuple[dict[str, float], bool]]:
        """Return whether it fires, for every combination of values that matter.

        Args:
            silent: ids of metrics that have no data.
        """
        expression = self.expression
        if expression is None:
            return [({"": value}, self.fires(value)) for value in self._values(self.uses.metrics[0], set())]
        math = expression.math()
        assert math
        ids = sorted(math.ids - set(silent))
        choices = [self._values(expression.metrics[each], math.numbers) for each in ids]
        found = []
        for values in product(*choices):
            named = dict(zip(ids, values, strict=True))
            nothing: dict[str, float | None] = dict.fromkeys(silent)
            found.append((named, self.fires(math.value({**nothing, **named}, expression.period))))
        return found

    def _values(self, use: MetricUse, numbers: set[float]) -> list[float]:
        row = known(self.resources, use)
        least, most = bounds(self.resources, use, row) if row else (0.0, None)
        around = {
            number + step for number in {0.0, *numbers, self.threshold or 0.0} for step in (-1.0, -1e-3, 0.0, 1e-3, 1.0)
        }
        wanted = {*around, least, most if most is not None else 1e18}
        return sorted(value for value in wanted if value >= least and (most is None or value <= most))


def bounds(resources: Resources, use: MetricUse, row: facts.Metric) -> tuple[float, float | None]:
    """Return the smallest and the largest value that a metric can have; None when there is none."""
    least = _bound(resources, use, row.least_of)
    most = _bound(resources, use, row.most_of)
    return (0.0 if least is None else least), (row.greatest if most is None else most)


def _bound(resources: Resources, use: MetricUse, bound: facts.MetricBound | None) -> float | None:
    named = resources.referred(use.dimensions.get(bound.dimension)) if bound else None
    if bound is None or named is None:
        return None
    attributes = {
        str(item.get("Key")): item.get("Value") for item in rows(named[0].properties.get("LoadBalancerAttributes"))
    }
    found = attributes.get(bound.attribute, named[0].at(bound.attribute))
    try:
        return float(found) * bound.factor if isinstance(found, int | float | str) else None
    except ValueError:
        return None


def alarms_of(resources: Resources) -> Iterator[Compared]:
    """Yield the alarms whose metrics can be read: the rules of metrics report the others."""
    for resource in resources.of_type(ALARM):
        uses = uses_of(resource)
        compared = Compared(resource, uses, resources)
        try:
            readable = bool(uses.metrics) and not uses.unreadable
            math = compared.expression.math() if readable and compared.expression else None
            if readable and (math is None or math.ids <= {use.id for use in uses.metrics}):
                yield compared
        except UnreadableExpressionError:
            continue
