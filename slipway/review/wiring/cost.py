"""What tells of costs, and what ends them."""

from __future__ import annotations

from collections.abc import Iterator

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.review.wiring.interfaces import CLUSTER
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, texts

_IDLE = "ClusterConfiguration.Scheduling.SlurmSettings.ScaledownIdletime"
_DEFAULT_IDLE_MINUTES = 10
_SLACK = 6
"""An alarm of idle nodes comes after this many times the time that idle nodes may run, at the latest."""


@rule(
    reason="The filter matches no cost: the budget shows 0 USD and never warns.",
    fix="Write `user:KEY$VALUE` with the key and value of a tag of the stacks.",
    source='AWS CloudFormation user guide, "AWS::Budgets::Budget BudgetData", CostFilters; AWS Billing user guide, '
    '"User-defined cost allocation tags"',
)
def budget_counts_the_stacks_costs(resources: Resources) -> Iterator[Finding]:
    """A budget that counts the costs with a tag names a tag that the stacks have."""
    own = {f"user:{key}${value}" for stack in resources.stacks for key, value in stack.tags.items()}
    for budget in resources.of_type("AWS::Budgets::Budget"):
        for index, filtered in enumerate(texts(budget.at("Budget.CostFilters.TagKeyValue"))):
            if any(row.startswith(f"user:{ENVIRONMENT_TAG}$") for row in own) and filtered not in own:
                yield about(budget, f"Budget.CostFilters.TagKeyValue.{index}", f"no stack has the tag {filtered}")


@rule(
    severity="warning",
    reason="An alarm below the time after which idle nodes end fires for each of them; far above it, idle nodes cost "
    "hours before it fires.",
    fix="Write seconds: somewhat more than `ScaledownIdletime`, which is in minutes.",
    source='AWS ParallelCluster user guide, "SlurmSettings", ScaledownIdletime; the metric is of its clustermgtd',
)
def idle_alarm_comes_after_idle_nodes_end(resources: Resources) -> Iterator[Finding]:
    """The alarm of idle nodes waits longer than the cluster does before it ends them, and not much longer."""
    minutes = [cluster.at(_IDLE) or _DEFAULT_IDLE_MINUTES for cluster in resources.of_type(CLUSTER)]
    seconds = [value * 60 for value in minutes if isinstance(value, int) and value > 0]
    for alarm in resources.of_type("AWS::CloudWatch::Alarm"):
        threshold = alarm.at("Threshold")
        if alarm.at("MetricName") != "MaxDynamicNodeIdleTime" or not isinstance(threshold, int | float):
            continue
        for limit in seconds:
            if not limit < threshold <= max(limit * _SLACK, 3600):
                yield about(alarm, "Threshold", f"idle nodes end after {limit} s, and it fires after {threshold:g} s")
