"""Cost: budgets, and the scale-down of idle nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.review.wiring.charts import chart_values, leaves
from slipway.review.wiring.interfaces import CLUSTER
from slipway.review.wiring.kubernetes_objects import CHART
from slipway.review.wiring.metric_uses import DASHBOARD
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, texts

_DURATION = re.compile(r"(\d+)([smh])")
_MONEY = re.compile(r'"label":"USD[^"]*","expression":"([^"]*)"')
_PERIOD_IN = re.compile(r"PERIOD\(\w+\) */ *(\d+)")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_IDLE = "ClusterConfiguration.Scheduling.SlurmSettings.ScaledownIdletime"
_DEFAULT_IDLE_MINUTES = 10
_SLACK = 6
"""The alarm for idle nodes fires at the latest after this multiple of the time after which they are terminated."""


@rule(
    reason="The filter matches no costs: the budget shows 0 USD and never warns.",
    fix="Write `user:KEY$VALUE` with the key and value of a tag of the stacks.",
    source='AWS CloudFormation user guide, "AWS::Budgets::Budget BudgetData", CostFilters; AWS Billing user guide, '
    '"User-defined cost allocation tags"',
)
def budget_counts_the_stacks_costs(resources: Resources) -> Iterator[Finding]:
    """A budget that filters by tag names a tag of the stacks."""
    own = {f"user:{key}${value}" for stack in resources.stacks for key, value in stack.tags.items()}
    for budget in resources.of_type("AWS::Budgets::Budget"):
        for index, filtered in enumerate(texts(budget.at("Budget.CostFilters.TagKeyValue"))):
            if any(row.startswith(f"user:{ENVIRONMENT_TAG}$") for row in own) and filtered not in own:
                yield about(budget, f"Budget.CostFilters.TagKeyValue.{index}", f"no stack has the tag {filtered}")


@rule(
    severity="warning",
    reason="If the threshold is below the scale-down time, the alarm fires for every idle node; far above, idle nodes "
    "cost money for hours before it fires.",
    fix="Write a threshold in seconds a little above `ScaledownIdletime`, which is in minutes.",
    source='AWS ParallelCluster user guide, "SlurmSettings", ScaledownIdletime; the metric is of its clustermgtd',
)
def idle_alarm_comes_after_idle_nodes_end(resources: Resources) -> Iterator[Finding]:
    """The alarm for idle nodes fires a little after the time at which the cluster terminates them."""
    minutes = [cluster.at(_IDLE) or _DEFAULT_IDLE_MINUTES for cluster in resources.of_type(CLUSTER)]
    seconds = [value * 60 for value in minutes if isinstance(value, int) and value > 0]
    for alarm in resources.of_type("AWS::CloudWatch::Alarm"):
        threshold = alarm.at("Threshold")
        if alarm.at("MetricName") != "MaxDynamicNodeIdleTime" or not isinstance(threshold, int | float):
            continue
        for limit in seconds:
            if not limit < threshold <= max(limit * _SLACK, 3600):
                yield about(
                    alarm,
                    "Threshold",
                    f"the cluster terminates idle nodes after {limit} s, and the alarm fires after {threshold:g} s",
                )


@rule(
    severity="warning",
    reason="Unused nodes keep running for hours, and are billed.",
    fix="Write a few minutes.",
    source="kubernetes/autoscaler, cluster-autoscaler/FAQ.md, scale-down-unneeded-time (10 minutes)",
)
def idle_nodes_end_soon(resources: Resources) -> Iterator[Finding]:
    """The cluster autoscaler terminates unused nodes within an hour."""
    for chart in resources.of_type(CHART):
        for path, value in leaves(chart_values(chart)):
            found = _DURATION.fullmatch(str(value)) if path.endswith("scale-down-unneeded-time") else None
            if found and int(found[1]) * _SECONDS[found[2]] > _SECONDS["h"]:
                yield about(chart, "Values", f"{path} is {value}")


@rule(
    severity="warning",
    reason="The dashboard shows a multiple of the real cost.",
    fix="Divide the period by 3600 if the price is per hour.",
    source='Amazon CloudWatch user guide, "Using math expressions with CloudWatch metrics": PERIOD is in seconds',
)
def price_is_per_hour(resources: Resources) -> Iterator[Finding]:
    """A metric in USD turns its period into hours, the unit of prices."""
    for dashboard in resources.of_type(DASHBOARD):
        for metric in _MONEY.findall(str(dashboard.at("DashboardBody"))):
            for divisor in _PERIOD_IN.findall(metric):
                if divisor != "3600":
                    yield about(dashboard, "DashboardBody", f"a metric in USD divides its period by {divisor}")
