"""An alarm can fire, fires on the side of trouble, hears silence, and tells somebody."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import product

from slipway import facts
from slipway.review.changes.resources import Resource
from slipway.review.wiring.expressions import UnreadableExpressionError
from slipway.review.wiring.metric_uses import ALARM, ExpressionUse, MetricUse, Uses, uses_of
from slipway.review.wiring.metrics import known
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, rows, texts

_ABOVE = {"GreaterThanThreshold", "GreaterThanOrEqualToThreshold"}
_BELOW = {"LessThanThreshold", "LessThanOrEqualToThreshold"}
_DAY_SECONDS = 86_400
_WEEK_SECONDS = 7 * _DAY_SECONDS
_HOUR_SECONDS = 3600
_MANY_PERIODS = 5
_TOO_LITTLE = 0.01
"""Share of a capacity at which an alarm that it is nearly used up comes too late."""


@dataclass(frozen=True, eq=False)
class _Compared:
    """What an alarm compares with its threshold."""

    alarm: Resource
    uses: Uses
    resources: Resources

    @property
    def operator(self) -> str:
        return str(self.alarm.properties.get("ComparisonOperator"))

    @property
    def threshold(self) -> float | None:
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
        return self.operator in _BELOW

    @property
    def needed_of_periods(self) -> tuple[int, int]:
        """How many periods must be bad, of how many; 1 of 1 where CloudFormation chooses."""
        given = self.alarm.properties
        periods, needed = given.get("EvaluationPeriods", 1), given.get("DatapointsToAlarm")
        needed = periods if needed is None else needed
        known_counts = str(periods).isdecimal() and str(needed).isdecimal()
        return (int(needed), int(periods)) if known_counts else (1, 1)

    def fires(self, value: float | None) -> bool:
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
        """Return whether it fires for values that matter, of each metric all with all of the others.

        Args:
            silent: ids of metrics without data.
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


def _alarms(resources: Resources) -> Iterator[_Compared]:
    """Yield the alarms whose metrics can be read: the rules of metrics report the others."""
    for resource in resources.of_type(ALARM):
        uses = uses_of(resource)
        compared = _Compared(resource, uses, resources)
        try:
            readable = bool(uses.metrics) and not uses.unreadable
            math = compared.expression.math() if readable and compared.expression else None
            if readable and (math is None or math.ids <= {use.id for use in uses.metrics}):
                yield compared
        except UnreadableExpressionError:
            continue


@rule(
    reason="It costs money, stands on the dashboard as OK, and is silent in trouble; or it is never silent.",
    fix="Write a threshold between the smallest and the largest value, in the unit of the metric.",
    source="slipway/facts/data/metrics.yaml, which has the page of each service",
)
def alarm_can_fire(resources: Resources) -> Iterator[Finding]:
    """There are values of an alarm's metrics for which it fires, and values for which it does not."""
    for compared in _alarms(resources):
        if compared.threshold is None:
            continue
        try:
            fired = {fires for _, fires in compared.outcomes()}
        except UnreadableExpressionError:
            continue
        if fired != {True, False}:
            when = "always" if fired == {True} else "never"
            yield about(compared.alarm, "Threshold", f"it {when} fires: {_condition(compared)}")
        elif too_late := _too_late(compared):
            yield about(compared.alarm, "Threshold", too_late)


def _too_late(compared: _Compared) -> str | None:
    """Say that a capacity is as good as used up when an alarm fires on what is left of it."""
    if compared.expression or not compared.fires_below:
        return None
    use = compared.uses.metrics[0]
    row = known(compared.resources, use)
    most = bounds(compared.resources, use, row)[1] if row and row.most_of else None
    if most and compared.threshold is not None and compared.threshold < most * _TOO_LITTLE:
        return (
            f"it fires when less than {compared.threshold / most:.1%} of {most:.0f} {row.unit if row else ''} is left"
        )
    return None


def _condition(compared: _Compared) -> str:
    names = ", ".join(use.name for use in compared.uses.metrics)
    threshold = "a bound" if compared.threshold is None else f"{compared.threshold:g}"
    return f"{names} {compared.operator} {threshold}"


@rule(
    reason="The threshold is for the whole and the value is that of a part: it fires much too early.",
    fix="Take `Sum` in the time of one sample.",
    source='FSx for Lustre User Guide, "Amazon FSx for Lustre metrics and dimensions"',
)
def alarm_adds_up_the_parts(resources: Resources) -> Iterator[Finding]:
    """An alarm on what is left of a whole adds up the parts that send it."""
    for compared in _alarms(resources):
        use = compared.uses.metrics[0]
        row = known(resources, use)
        is_of_parts = not compared.expression and row and row.kind == "parts" and row.most_of
        if is_of_parts and use.statistic != "Sum":
            yield about(compared.alarm, use.path, f"{_condition(compared)}: {use.statistic} is that of one part")


@rule(
    reason="It tells when all is well, and is silent in trouble.",
    fix="Turn the comparison round.",
    source="slipway/facts/data/metrics.yaml, which has the page of each service",
)
def alarm_fires_in_trouble(resources: Resources) -> Iterator[Finding]:
    """An alarm fires on the side of its metrics that means trouble."""
    for compared in _alarms(resources):
        sides = {
            use.id or "": row.trouble for use in compared.uses.metrics if (row := known(resources, use)) and row.trouble
        }
        if not sides or compared.threshold is None:
            continue
        try:
            right = any(_worse_fires(compared, each, side) for each, side in sides.items())
        except UnreadableExpressionError:
            continue
        if not right:
            yield about(compared.alarm, "ComparisonOperator", f"no worse value makes it fire: {_condition(compared)}")


def _worse_fires(compared: _Compared, id_: str, side: str) -> bool:
    """Whether it fires for a worse value of a metric, and not for a better one beside the same others."""
    if compared.threshold is None:
        return False
    silent: dict[tuple[tuple[str, float], ...], list[float]] = {}
    firing: dict[tuple[tuple[str, float], ...], list[float]] = {}
    for values, fires in compared.outcomes():
        others = tuple((each, value) for each, value in values.items() if each != id_)
        (firing if fires else silent).setdefault(others, []).append(values.get(id_, 0.0))
    for others, worse in firing.items():
        better = silent.get(others, [])
        if better and (max(worse) > min(better) if side == "above" else min(worse) < max(better)):
            return True
    return False


@rule(
    reason="What has died sends nothing: the alarm is silent just then.",
    fix="Write `TreatMissingData: breaching`, or `missing` with `InsufficientDataActions`, or use `FILL`.",
    source='Amazon CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data"',
)
def alarm_hears_silence(resources: Resources) -> Iterator[Finding]:
    """An alarm on too little of what is sent as long as a thing lives fires, or tells, when nothing is sent."""
    for compared in _alarms(resources):
        if not compared.fires_below:
            continue
        rows = {use.id or "": row for use in compared.uses.metrics if (row := known(resources, use))}
        beats = {id_ for id_, row in rows.items() if row.heartbeat or row.kind == "counter"}
        math = compared.expression.math() if compared.expression else None
        missing = compared.alarm.properties.get("TreatMissingData", "missing")
        told = missing == "breaching" or (
            missing == "missing" and bool(compared.alarm.properties.get("InsufficientDataActions"))
        )
        filled = beats & math.filled if math else set()
        if beats and not told and not filled:
            yield about(compared.alarm, "TreatMissingData", f"{_condition(compared)}: silence is {missing}")
        if filled and not any(fires for _, fires in compared.outcomes(silent=filled)):
            yield about(compared.alarm, "Metrics", f"what stands for silence in {_condition(compared)} never fires")


@rule(
    severity="warning",
    reason="One such event is trouble, and the alarm waits for one in every period.",
    fix="Write `DatapointsToAlarm: 1`.",
    source='Amazon CloudWatch User Guide, "Evaluating an alarm"',
)
def alarm_tells_of_a_single_event(resources: Resources) -> Iterator[Finding]:
    """An alarm on more than no events of a kind that means trouble does not wait for one in each of many periods."""
    for compared in _alarms(resources):
        row = known(resources, compared.uses.metrics[0])
        needed, _ = compared.needed_of_periods
        is_event = row and row.kind == "counter" and row.trouble == "above" and compared.threshold in (0, 1)
        if is_event and not compared.expression and compared.operator in _ABOVE and needed > _MANY_PERIODS:
            yield about(compared.alarm, "DatapointsToAlarm", f"{_condition(compared)} in {needed} periods")


@rule(
    reason="It fires whenever nothing happens; people learn to ignore it.",
    fix="Write `TreatMissingData: notBreaching` or `missing`.",
    source='Amazon CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data"',
)
def alarm_is_quiet_without_data(resources: Resources) -> Iterator[Finding]:
    """An alarm on too much takes silence for nothing, not for trouble."""
    for compared in _alarms(resources):
        missing = compared.alarm.properties.get("TreatMissingData", "missing")
        if compared.operator in _ABOVE and missing in ("breaching", "ignore"):
            yield about(compared.alarm, "TreatMissingData", f"{_condition(compared)}: silence is {missing}")


@rule(
    reason="No message comes.",
    fix="Name a topic in `AlarmActions`, and say in `AlarmDescription` what to do.",
    source='Amazon CloudWatch User Guide, "Alarm actions"',
    severity="warning",
)
def alarm_tells_somebody(resources: Resources) -> Iterator[Finding]:
    """An alarm tells a topic of the stacks, and what to do."""
    for resource in resources.of_type(ALARM):
        actions = resource.properties.get("AlarmActions") or []
        if resource.properties.get("ActionsEnabled") is False:
            yield about(resource, "ActionsEnabled", "its actions are switched off")
        if not actions:
            yield about(resource, "AlarmActions", "it has no action")
        for path in ("AlarmActions", "InsufficientDataActions", "OKActions"):
            for action in texts(resource.properties.get(path)):
                if not resources.resource(action, "AWS::SNS::Topic") and not str(action).startswith("arn:"):
                    yield about(resource, path, f"{action} is not a topic of these stacks")
        if not str(resource.properties.get("AlarmDescription") or "").strip():
            yield about(resource, "AlarmDescription", "it does not say what to do")


@rule(
    reason="CloudWatch refuses the alarm.",
    fix="Write fewer or shorter periods.",
    source="Amazon CloudWatch API Reference, PutMetricAlarm, EvaluationPeriods",
)
def alarm_looks_at_a_short_time(resources: Resources) -> Iterator[Finding]:
    """An alarm looks at no more periods than CloudWatch allows, and needs no more of them than it looks at."""
    for compared in _alarms(resources):
        needed, periods = compared.needed_of_periods
        seconds = max(use.period for use in compared.uses.metrics)
        if needed > periods or needed < 1:
            yield about(compared.alarm, "DatapointsToAlarm", f"{needed} of {periods} periods can never be")
        if periods * seconds > (_WEEK_SECONDS if seconds >= _HOUR_SECONDS else _DAY_SECONDS):
            yield about(compared.alarm, "EvaluationPeriods", f"{periods} periods of {seconds} s are too long")


@rule(
    reason="Its failure is noticed by those who wait for it.",
    fix="Make the alarm, or accept the finding with a reason.",
    source="`alarmed` in slipway/facts/data/metrics.yaml",
    severity="warning",
)
def resource_is_watched(resources: Resources) -> Iterator[Finding]:
    """A resource whose metrics show that it is broken or full has an alarm that fires on each of them."""
    watched = {
        (use.namespace, use.name, str(value))
        for compared in _alarms(resources)
        for use in compared.uses.metrics
        if (row := known(resources, use)) and (row.trouble is None or _may_fire(compared, use.id or "", row.trouble))
        for value in use.dimensions.values()
    }
    for (namespace, name), row in facts.metrics().items():
        for dimension in row.alarmed:
            place = facts.metric_dimensions()[namespace, dimension]
            for resource in resources.of_type(place.type or ""):
                name_property = str(resource.at(place.property or ""))
                names = {f"${{{resource.key}}}", f"${{{resource.key}.{place.attribute}}}", name_property}
                is_watched = any((namespace, name, each) in watched for each in names)
                if not is_watched and _can_send(resources, resource, row):
                    yield about(resource, "", f"no alarm looks at its {namespace} {name}")


def _may_fire(compared: _Compared, id_: str, side: str) -> bool:
    try:
        return compared.threshold is None or _worse_fires(compared, id_, side)
    except UnreadableExpressionError:
        return True


def _can_send(resources: Resources, resource: Resource, row: facts.Metric) -> bool:
    return all(resource.at(path) == value for path, value in row.alarmed_where.items()) and (
        row.needs is None or any(each.at(row.needs.property) is not None for each in resources.of_type(row.needs.type))
    )
