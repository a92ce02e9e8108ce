"""Where an assembly looks at metrics: alarms, dashboards and scaling policies."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slipway.review.changes.resources import Resource
from slipway.review.wiring.expressions import Math, NamedMetric, UnreadableExpressionError, queried
from slipway.review.wiring.resources import Resources, mapping, rows

ALARM = "AWS::CloudWatch::Alarm"
DASHBOARD = "AWS::CloudWatch::Dashboard"
POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"

DEFAULT_PERIOD = 300
"""Seconds, of a dashboard's metric that says nothing else (CloudWatch API, "Dashboard body structure and syntax")."""

_POLICY_PERIOD = 60


@dataclass(frozen=True, eq=False)
class MetricUse:
    """A metric that somebody looks at.

    Attributes:
        path: where in the resource's properties.
        dimensions: values by name; None where a query takes all.
        id: its id in the expressions beside it.
    """

    resource: Resource
    path: str
    namespace: str
    name: str
    dimensions: Mapping[str, Any]
    statistic: str
    period: int
    unit: str | None = None
    id: str | None = None


@dataclass(frozen=True, eq=False)
class ExpressionUse:
    """An expression beside metrics.

    Attributes:
        ids: all ids that it may use.
        metrics: the metrics among them by id.
        returned: whether it is what an alarm compares.
    """

    resource: Resource
    path: str
    text: str
    period: int
    ids: frozenset[str]
    metrics: Mapping[str, MetricUse]
    returned: bool = False

    def math(self) -> Math | None:
        """Return it as metric math; None when it is a query.

        Raises:
            UnreadableExpressionError: it is neither.
        """
        return None if queried(self.text) else Math(self.text)


@dataclass(frozen=True, eq=False)
class Uses:
    """All of one resource."""

    metrics: tuple[MetricUse, ...] = ()
    expressions: tuple[ExpressionUse, ...] = ()
    unreadable: tuple[str, ...] = ()
    """What is wrong with what could not be read."""


def uses_of(resource: Resource) -> Uses:
    """Return the metrics and expressions of an alarm, a dashboard or a scaling policy."""
    match resource.type:
        case "AWS::CloudWatch::Alarm":
            return _of_alarm(resource)
        case "AWS::CloudWatch::Dashboard":
            return _of_dashboard(resource)
        case _:
            return Uses(tuple(_of_policy(resource)))


def all_uses(resources: Resources) -> Iterator[tuple[Resource, Uses]]:
    """Yield everything that looks at metrics, with what it looks at."""
    for resource in resources.of_type(ALARM, DASHBOARD, POLICY):
        yield resource, uses_of(resource)


@dataclass(frozen=True, eq=False)
class _Pending:
    """An expression before the metrics beside it are known."""

    path: str
    text: str
    period: Any
    id: str | None
    returned: bool = False


def _of_alarm(resource: Resource) -> Uses:
    if "MetricName" in resource.properties:
        alarm = resource.properties
        reading = {"Stat": alarm.get("Statistic") or alarm.get("ExtendedStatistic"), **alarm}
        return Uses((_use(resource, "MetricName", alarm, reading),))
    metrics, pending = [], []
    for index, item in enumerate(rows(resource.properties.get("Metrics"))):
        path, id_ = f"Metrics.{index}", str(item.get("Id") or "") or None
        if stat := mapping(item.get("MetricStat")):
            metrics.append(_use(resource, path, mapping(stat.get("Metric")), stat, id_))
        else:
            returned = item.get("ReturnData", True) is not False
            pending.append(_Pending(path, str(item.get("Expression")), item.get("Period"), id_, returned))
    return _with_expressions(resource, metrics, pending)


def _use(
    resource: Resource, path: str, metric: Mapping[str, Any], reading: Mapping[str, Any], id_: str | None = None
) -> MetricUse:
    """Make a use of a metric and of how it is read: `Stat`, `Period`, `Unit`."""
    dimensions = {str(item.get("Name", "")): str(item.get("Value")) for item in rows(metric.get("Dimensions"))}
    return MetricUse(
        resource,
        path,
        namespace=str(metric.get("Namespace")),
        name=str(metric.get("MetricName")),
        dimensions=dimensions,
        statistic=str(reading.get("Stat") or ""),
        period=_seconds(reading.get("Period")),
        unit=str(reading.get("Unit") or "") or None,
        id=id_,
    )


def _seconds(period: Any) -> int:
    return int(period) if isinstance(period, int | str) and str(period).isdecimal() else DEFAULT_PERIOD


def _with_expressions(resource: Resource, metrics: list[MetricUse], pending: list[_Pending]) -> Uses:
    by_id = {use.id: use for use in metrics if use.id}
    ids = frozenset((*by_id, *(each.id for each in pending if each.id)))
    common = max((use.period for use in metrics), default=DEFAULT_PERIOD)
    expressions, found, unreadable = [], list(metrics), []
    for each in pending:
        seconds = _seconds(each.period) if each.period else common
        expressions.append(ExpressionUse(resource, each.path, each.text, seconds, ids, by_id, each.returned))
        try:
            if named := queried(each.text):
                found.append(_named(resource, each.path, named, seconds))
        except UnreadableExpressionError as error:
            unreadable.append(f"{each.path}: {error}")
    return Uses(tuple(found), tuple(expressions), tuple(unreadable))


def _named(resource: Resource, path: str, named: NamedMetric, period: int) -> MetricUse:
    return MetricUse(resource, path, named.namespace, named.name, named.dimensions, named.statistic, period)


def _of_dashboard(resource: Resource) -> Uses:
    body = resource.properties.get("DashboardBody")
    try:
        widgets = json.loads(body)["widgets"] if isinstance(body, str) else []
    except (ValueError, KeyError) as error:
        return Uses(unreadable=(f"DashboardBody: it is not a dashboard: {error}",))
    found = [
        _of_widget(resource, f"DashboardBody.widgets.{index}", widget["properties"])
        for index, widget in enumerate(widgets)
        if widget.get("type") == "metric"
    ]
    return Uses(
        tuple(use for uses in found for use in uses.metrics),
        tuple(use for uses in found for use in uses.expressions),
        tuple(text for uses in found for text in uses.unreadable),
    )


def _of_widget(resource: Resource, path: str, properties: Mapping[str, Any]) -> Uses:
    metrics, pending = [], []
    for index, row in enumerate(properties.get("metrics") or ()):
        options = row[-1] if row and isinstance(row[-1], dict) else {}
        words = [str(word) for word in row if not isinstance(word, dict)]
        here = f"{path}.metrics.{index}"
        if "expression" in options:
            pending.append(_Pending(here, str(options["expression"]), options.get("period"), options.get("id")))
            continue
        statistic = options.get("stat") or properties.get("stat") or "Average"
        period = _seconds(options.get("period") or properties.get("period"))
        dimensions = dict(zip(words[2::2], words[3::2], strict=False))
        metrics.append(
            MetricUse(resource, here, words[0], words[1], dimensions, statistic, period, id=options.get("id"))
        )
    return _with_expressions(resource, metrics, pending)


def _of_policy(resource: Resource) -> Iterator[MetricUse]:
    path = "TargetTrackingScalingPolicyConfiguration.CustomizedMetricSpecification"
    if metric := mapping(resource.at(path)):
        yield _use(resource, path, metric, {**metric, "Stat": metric.get("Statistic"), "Period": _POLICY_PERIOD})
