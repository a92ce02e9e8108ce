"""Every metric that an alarm, a dashboard or a scaling policy looks at is one that is sent, and it is read rightly."""

import re
from collections.abc import Iterator
from datetime import date

from slipway import facts
from slipway.review.changes.resources import Resource, value_at
from slipway.review.wiring.expressions import UnreadableExpressionError
from slipway.review.wiring.metric_uses import MetricUse, all_uses
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, literal, rows

FILTER = "AWS::Logs::MetricFilter"

_STATISTICS = {
    "counter": {"Sum"},
    "gauge": {"Average", "Minimum", "Maximum"},
    "parts": {"Sum", "Average", "Minimum", "Maximum", "SampleCount"},
    "duration": {"Average", "Maximum", "Minimum"},
}
_PERCENTILE = re.compile(r"(p|tm|wm|tc|ts)(\d{1,2}(\.\d+)?|100)")
_QUOTED = re.compile(r'"([^"]*)"')
_ADDED_UP = {"Sum", "SampleCount"}


def filtered(resources: Resources) -> dict[tuple[str, str], Resource]:
    """Return the metric filters by the metric that they make."""
    return {
        (str(made.get("MetricNamespace")), str(made.get("MetricName"))): resource
        for resource in resources.of_type(FILTER)
        for made in rows(resource.properties.get("MetricTransformations"))
    }


def known(resources: Resources, use: MetricUse) -> facts.Metric | None:
    """Return what is known of a metric that a service, a script of ours or a metric filter of the stacks sends."""
    if row := facts.metrics().get((use.namespace, use.name)):
        return row
    resource = filtered(resources).get((use.namespace, use.name))
    return _of_filter(use, resource) if resource else None


def _of_filter(use: MetricUse, resource: Resource) -> facts.Metric:
    """What a filter counts: a line of a log each time."""
    made = next(each for each in resource.properties["MetricTransformations"] if each.get("MetricName") == use.name)
    return facts.Metric(
        namespace=use.namespace,
        names=(use.name,),
        dimensions=(tuple(item["Key"] for item in made.get("Dimensions") or ()),),
        kind="counter",
        unit=made.get("Unit"),
        source=resource.key,
        as_of=date.min,
    )


def _metrics(resources: Resources) -> Iterator[MetricUse]:
    for _, uses in all_uses(resources):
        yield from uses.metrics


def _named(use: MetricUse) -> str:
    return f"{use.namespace} {use.name}"


def _known_namespaces(resources: Resources) -> set[str]:
    return {namespace for namespace, _ in (*facts.metrics(), *filtered(resources))}


@rule(
    reason="CloudWatch takes any namespace, and nobody could check the metric's name, dimensions and unit.",
    fix="Correct the namespace, or accept the finding and say what sends the metric.",
    source="slipway/facts/data/metrics.yaml, which has the page of each service",
    severity="warning",
)
def namespace_is_known(resources: Resources) -> Iterator[Finding]:
    """A metric that is looked at is in a namespace whose metrics are known."""
    namespaces = _known_namespaces(resources)
    for use in _metrics(resources):
        if use.namespace not in namespaces:
            yield about(use.resource, use.path, f"{_named(use)}: unknown namespace")


@rule(
    reason="CloudWatch takes any name. An alarm on a metric that does not exist never fires.",
    fix="Write the name as the sender has it, or add a metric filter.",
    source="slipway/facts/data/metrics.yaml, which has the page of each service",
)
def metric_is_sent(resources: Resources) -> Iterator[Finding]:
    """A metric that is looked at is one that a service, a script of Slipway or a metric filter of the stacks sends."""
    namespaces = _known_namespaces(resources)
    for use in _metrics(resources):
        if use.namespace in namespaces and not known(resources, use):
            yield about(use.resource, use.path, f"{_named(use)}: nothing sends it")


@rule(
    reason="Each set of dimensions is a metric of its own: with one more or less there is no data.",
    fix="Name all dimensions of one of the sets.",
    source='Amazon CloudWatch User Guide, "Metrics concepts", dimensions',
)
def metric_has_its_dimensions(resources: Resources) -> Iterator[Finding]:
    """A metric is looked at under a set of dimensions under which it is sent."""
    for use in _metrics(resources):
        row, names = known(resources, use), sorted(use.dimensions)
        sets = [sorted(each) for each in row.dimensions] if row else []
        if row and names not in sets:
            wanted = " or ".join(", ".join(each) or "none" for each in sets)
            yield about(
                use.resource, use.path, f"{_named(use)} has the dimensions {wanted}, not {', '.join(names) or 'none'}"
            )


@rule(
    reason="An alarm on another resource's metric is silent when this one fails.",
    fix="Refer to the resource whose metric you want.",
    source="slipway/facts/data/metric_dimensions.yaml",
)
def dimension_names_a_resource(resources: Resources) -> Iterator[Finding]:
    """The value of a dimension is the resource of the stacks that it means, or an existing one."""
    for use in _metrics(resources):
        for name, value in use.dimensions.items():
            row = facts.metric_dimensions().get((use.namespace, name))
            if row and value is not None and not _names(resources, row, str(value)):
                what = " or ".join(row.values) if row.values else f"an {row.type} of these stacks"
                yield about(use.resource, use.path, f"the dimension {name} of {_named(use)} is {value}, not {what}")


def _names(resources: Resources, row: facts.MetricDimension, value: str) -> bool:
    if row.values:
        return value in row.values
    assert row.type
    if found := resources.referred(value):
        resource, attribute = found
        # What Ref returns is the name where a property of the type is its name.
        return resource.type == row.type and attribute in ({row.attribute, ""} if row.property else {row.attribute})
    if any(each.is_named(value) for each in resources.existing):
        return True
    return bool(row.property) and any(
        resource.at(row.property or "") == value for resource in resources.of_type(row.type)
    )


@rule(
    reason="The sum of samples of a level, or the average of a count, is a number without meaning.",
    fix="Take Sum of a counter, Average, Minimum or Maximum of a gauge, a percentile of a duration.",
    source="slipway/facts/data/metrics.yaml, which has the page of each service",
)
def statistic_fits_the_metric(resources: Resources) -> Iterator[Finding]:
    """A metric is looked at with a statistic that means something: sums of counts, levels, percentiles of times."""
    for use in _metrics(resources):
        row = known(resources, use)
        if row is None or use.statistic in _STATISTICS[row.kind]:
            continue
        if row.kind == "duration" and _PERCENTILE.fullmatch(use.statistic):
            continue
        yield about(
            use.resource, use.path, f"{_named(use)} is a {row.kind}: {use.statistic or 'no statistic'} says nothing"
        )


@rule(
    reason="A period without a sample is missing data; over a longer one the same parts are counted again.",
    fix="Write the period in which it is sent, or a multiple where nothing is added up.",
    source="slipway/facts/data/metrics.yaml, which has the page of each service",
)
def period_fits_the_metric(resources: Resources) -> Iterator[Finding]:
    """A period holds at least one sample, and only one where parts are added up."""
    for use in _metrics(resources):
        row = known(resources, use)
        if row is None:
            continue
        if use.period < row.every_seconds or use.period % 60:
            yield about(
                use.resource, use.path, f"{_named(use)} is sent every {row.every_seconds} s, not every {use.period}"
            )
        any_will_do = use.resource.at("Threshold") == 0 and row.trouble == "above"
        if row.kind == "parts" and use.statistic in _ADDED_UP and use.period > row.every_seconds and not any_will_do:
            message = f"in {use.period} s {_named(use)} is added up {use.period // row.every_seconds} times"
            yield about(use.resource, use.path, message)


@rule(
    reason="CloudWatch takes a unit as a filter: with another one than the sender's there is no data.",
    fix="Leave the unit out.",
    source="Amazon CloudWatch API Reference, PutMetricAlarm, Unit",
)
def unit_is_the_senders(resources: Resources) -> Iterator[Finding]:
    """A metric that is looked at with a unit is sent with that unit."""
    for use in _metrics(resources):
        row = known(resources, use)
        if row and use.unit and use.unit != row.unit:
            yield about(use.resource, use.path, f"{_named(use)} is sent in {row.unit or 'no unit'}, not in {use.unit}")


@rule(
    reason="The metric does not exist before it is switched on at its resource.",
    fix="Switch it on at the resource.",
    source="slipway/facts/data/metrics.yaml, which has the page of each service",
)
def metric_is_switched_on(resources: Resources) -> Iterator[Finding]:
    """What a metric needs, such as Container Insights or an export to S3, is on."""
    for use in _metrics(resources):
        row = known(resources, use)
        if row and (needs := row.needs) and not _is_on(resources, use, needs):
            wanted = f"{needs.property}: {needs.value}" if needs.value is not None else needs.property
            yield about(use.resource, use.path, f"{_named(use)} is sent when {needs.type} has {wanted}")


def _is_on(resources: Resources, use: MetricUse, needs: facts.MetricSetting) -> bool:
    named = [found[0] for value in use.dimensions.values() if (found := resources.referred(value))]
    if not named and any(each.is_named(str(value)) for value in use.dimensions.values() for each in resources.existing):
        return True
    own = [resource for resource in named if resource.type == needs.type]
    for resource in own or resources.of_type(needs.type):
        value = value_at(resource.properties, needs.property)
        if value == needs.value or (needs.value is None and value is not None):
            return True
    return False


@rule(
    reason="An expression with an unknown id has no data.",
    fix="Give each id that it uses to a metric beside it, and `ReturnData` to one.",
    source='Amazon CloudWatch User Guide, "Using math expressions with CloudWatch metrics"',
)
def expression_is_whole(resources: Resources) -> Iterator[Finding]:
    """An expression is metric math, uses metrics that exist beside it, and an alarm compares exactly one value."""
    for resource, uses in all_uses(resources):
        yield from (about(resource, *text.split(": ", 1)) for text in uses.unreadable)
        for expression in uses.expressions:
            try:
                math = expression.math()
            except UnreadableExpressionError as error:
                yield about(resource, expression.path, str(error))
                continue
            if math and (missing := math.ids - expression.ids):
                yield about(
                    resource, expression.path, f"the expression uses {', '.join(sorted(missing))}, which is not there"
                )
        if items := rows(resource.properties.get("Metrics")):
            returned = sum(item.get("ReturnData", True) is not False for item in items)
            if returned != 1:
                yield about(resource, "Metrics", f"{returned} values are compared with the threshold, not one")


@rule(
    reason="The filter costs money and no message comes of it.",
    fix="Put an alarm or a graph on its metric.",
    source='Amazon CloudWatch Logs User Guide, "Creating metrics from log events using filters"',
    severity="warning",
)
def metric_filter_is_read(resources: Resources) -> Iterator[Finding]:
    """A metric filter reads a log group of the stacks, and somebody looks at its metric."""
    read = {(use.namespace, use.name) for use in _metrics(resources)}
    for metric, resource in filtered(resources).items():
        if metric not in read:
            yield about(resource, "MetricTransformations", f"nobody looks at {' '.join(metric)}")
        if not resources.resource(resource.properties.get("LogGroupName"), "AWS::Logs::LogGroup"):
            yield about(
                resource,
                "LogGroupName",
                f"{resource.properties.get('LogGroupName')} is not a log group of these stacks",
            )


@rule(
    severity="warning",
    reason="In a quoted term an asterisk is no wildcard: the filter matches nothing.",
    fix="Remove the asterisk, or write a regular expression between percent signs.",
    source='Amazon CloudWatch Logs user guide, "Filter pattern syntax for metric filters"',
)
def filter_pattern_can_match(resources: Resources) -> Iterator[Finding]:
    """Quoted terms in a metric filter's pattern contain no asterisk."""
    for metric_filter in resources.of_type(FILTER):
        pattern = literal(metric_filter.at("FilterPattern")) or ""
        if not pattern.startswith(("{", "[")) and any("*" in term for term in _QUOTED.findall(pattern)):
            yield about(metric_filter, "FilterPattern", f"{pattern} matches only text with an asterisk")
