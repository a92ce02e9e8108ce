"""An alarm can fire, fires on the side of trouble, hears silence, and tells somebody."""

from collections.abc import Iterator

from slipway import facts
from slipway.review.changes.resources import Resource
from slipway.review.wiring.alarm_values import ABOVE, Compared, alarms_of, bounds
from slipway.review.wiring.expressions import UnreadableExpressionError
from slipway.review.wiring.metric_uses import ALARM
from slipway.review.wiring.metrics import known
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, texts

_DAY_SECONDS = 86_400
_WEEK_SECONDS = 7 * _DAY_SECONDS
_HOUR_SECONDS = 3600
_MANY_PERIODS = 5
_TOO_LITTLE = 0.01
"""Share of a capacity at which an alarm that it is nearly used up comes too late."""


@rule(
    reason="It costs money, stands on the dashboard as OK, and is silent in trouble; or it is never silent.",
    fix="Write a threshold between the smallest and the largest value, in the unit of the metric.",
    source="slipway/facts/data/metrics.yaml, which has the page of each service",
)
def alarm_can_fire(resources: Resources) -> Iterator[Finding]:
    """There are values of an alarm's metrics for which it fires, and values for which it does not."""
    for compared in alarms_of(resources):
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


def _too_late(compared: Compared) -> str | None:
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


def _condition(compared: Compared) -> str:
    names = ", ".join(use.name for use in compared.uses.metrics)
    threshold = "a bound" if compared.threshold is None else f"{compared.threshold:g}"
    return f"{names} {compared.operator} {threshold}"


@rule(
    reason="The threshold is for the whole, and the value is that of one part: the alarm fires much too early.",
    fix="Write `Sum` with the period of one sample.",
    source='FSx for Lustre User Guide, "Amazon FSx for Lustre metrics and dimensions"',
)
def alarm_adds_up_the_parts(resources: Resources) -> Iterator[Finding]:
    """An alarm on a metric that each part sends, with a threshold for the whole, uses `Sum`."""
    for compared in alarms_of(resources):
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
    for compared in alarms_of(resources):
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


def _worse_fires(compared: Compared, id_: str, side: str) -> bool:
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
    for compared in alarms_of(resources):
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
            yield about(
                compared.alarm,
                "Metrics",
                f"the value that FILL writes for missing data in {_condition(compared)} never makes it fire",
            )


@rule(
    severity="warning",
    reason="A single event means trouble, and the alarm fires only after one in every period.",
    fix="Write `DatapointsToAlarm: 1`.",
    source='Amazon CloudWatch User Guide, "Evaluating an alarm"',
)
def alarm_tells_of_a_single_event(resources: Resources) -> Iterator[Finding]:
    """An alarm on events that mean trouble does not need one in each of many periods."""
    for compared in alarms_of(resources):
        row = known(resources, compared.uses.metrics[0])
        needed, _ = compared.datapoints_of_periods
        is_event = row and row.kind == "counter" and row.trouble == "above" and compared.threshold in (0, 1)
        if is_event and not compared.expression and compared.operator in ABOVE and needed > _MANY_PERIODS:
            yield about(compared.alarm, "DatapointsToAlarm", f"{_condition(compared)} in {needed} periods")


@rule(
    reason="It fires whenever nothing happens; people learn to ignore it.",
    fix="Write `TreatMissingData: notBreaching` or `missing`.",
    source='Amazon CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data"',
)
def alarm_is_quiet_without_data(resources: Resources) -> Iterator[Finding]:
    """An alarm on too much takes silence for nothing, not for trouble."""
    for compared in alarms_of(resources):
        missing = compared.alarm.properties.get("TreatMissingData", "missing")
        if compared.operator in ABOVE and missing in ("breaching", "ignore"):
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
    for compared in alarms_of(resources):
        needed, periods = compared.datapoints_of_periods
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
        for compared in alarms_of(resources)
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


def _may_fire(compared: Compared, id_: str, side: str) -> bool:
    try:
        return compared.threshold is None or _worse_fires(compared, id_, side)
    except UnreadableExpressionError:
        return True


def _can_send(resources: Resources, resource: Resource, row: facts.Metric) -> bool:
    return all(resource.at(path) == value for path, value in row.alarmed_where.items()) and (
        row.needs is None or any(each.at(row.needs.property) is not None for each in resources.of_type(row.needs.type))
    )


@rule(
    severity="warning",
    reason="Without the alarm, you notice a failed export when you need the file from the bucket.",
    fix="Add an alarm on AgeOfOldestQueuedMessage with the publisher `AutoExport`.",
    source='FSx for Lustre User Guide, "Amazon FSx for Lustre metrics and dimensions", AgeOfOldestQueuedMessage',
)
def exports_are_watched(resources: Resources) -> Iterator[Finding]:
    """If an alarm watches the import or export queue of a file system, one watches the export queue."""
    looked_at = {
        use.dimensions.get("Publisher")
        for compared in alarms_of(resources)
        for use in compared.uses.metrics
        if use.name == "AgeOfOldestQueuedMessage"
    }
    for link in resources.of_type("AWS::FSx::DataRepositoryAssociation"):
        if link.at("S3.AutoExportPolicy") and looked_at and "AutoExport" not in looked_at:
            yield about(link, "S3.AutoExportPolicy", "alarms watch only imports")
