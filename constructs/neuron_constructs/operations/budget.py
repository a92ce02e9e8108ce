"""A monthly budget over everything that carries a tag."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_sns as sns
from constructs import Construct, IDependable

from neuron_constructs.acknowledgements import allow_redundant_depends_on

ACTUAL_PERCENT = (50, 80, 100)
"""Shares of the budget that are told when they are spent."""

FORECAST_PERCENT = 100
"""Share of the budget that is told when the forecast for the month exceeds it."""

SPENT_PERCENT = 100
"""Share of the budget at which it is spent: what stops the environment is told, where there is such a thing."""


@dataclass(frozen=True, kw_only=True)
class BudgetProps:
    """Properties of a `Budget`."""

    monthly_usd: int
    """The budget in US dollars a month."""

    tag_key: str
    """Key of the tag whose costs count."""

    tag_value: str
    """Value of the tag."""

    topic: sns.ITopic
    """Who is told."""

    topic_policy: IDependable
    """What allows AWS Budgets to publish; it must be there first."""

    spent_topic: sns.ITopic | None = None
    """Who is told instead of `topic` when the whole budget is spent: a notification of AWS Budgets has one topic."""

    email: str | None = None
    """Address that AWS Budgets writes to beside `spent_topic`."""


class Budget(Construct):
    """An AWS budget that counts what carries one tag and tells a topic.

    AWS counts a tag only after it was activated as a cost allocation tag in the account's billing settings, which takes
    up to 24 hours; until then the budget stays at zero. Credits and refunds are not taken off.
    """

    def __init__(self, scope: Construct, id: str, props: BudgetProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        # L1: AWS Budgets has no L2.
        budget = budgets.CfnBudget(
            self,
            "Resource",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=props.monthly_usd, unit="USD"),
                cost_filters={"TagKeyValue": [f"user:{props.tag_key}${props.tag_value}"]},
                # By default AWS takes credits off (API CostTypes): in an account that lives on credits the budget would
                # stay at zero, and stop nothing.
                cost_types=budgets.CfnBudget.CostTypesProperty(include_credit=False, include_refund=False),
            ),
            notifications_with_subscribers=[
                *(
                    _notification("ACTUAL", percent, _subscribers(props, spent=percent == SPENT_PERCENT))
                    for percent in ACTUAL_PERCENT
                ),
                _notification("FORECASTED", FORECAST_PERCENT, _subscribers(props, spent=False)),
            ],
        )
        budget.node.add_dependency(props.topic_policy)
        if props.spent_topic:
            budget.node.add_dependency(props.spent_topic)
        allow_redundant_depends_on(budget)


def _subscribers(props: BudgetProps, *, spent: bool) -> Iterator[budgets.CfnBudget.SubscriberProperty]:
    """Yield who is told: a notification may have one topic and ten addresses (API NotificationWithSubscribers)."""
    if not spent or props.spent_topic is None:
        yield budgets.CfnBudget.SubscriberProperty(subscription_type="SNS", address=props.topic.topic_arn)
        return
    yield budgets.CfnBudget.SubscriberProperty(subscription_type="SNS", address=props.spent_topic.topic_arn)
    if props.email:
        yield budgets.CfnBudget.SubscriberProperty(subscription_type="EMAIL", address=props.email)


def _notification(
    kind: str, percent: int, subscribers: Iterator[budgets.CfnBudget.SubscriberProperty]
) -> budgets.CfnBudget.NotificationWithSubscribersProperty:
    return budgets.CfnBudget.NotificationWithSubscribersProperty(
        notification=budgets.CfnBudget.NotificationProperty(
            comparison_operator="GREATER_THAN", notification_type=kind, threshold=percent, threshold_type="PERCENTAGE"
        ),
        subscribers=list(subscribers),
    )
