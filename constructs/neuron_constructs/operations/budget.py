"""A monthly budget over everything that carries a tag."""

from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_sns as sns
from constructs import Construct, IDependable

from neuron_constructs.acknowledgements import allow_redundant_depends_on

ACTUAL_PERCENT = (50, 80, 100)
"""Shares of the budget that are told when they are spent."""

FORECAST_PERCENT = 100
"""Share of the budget that is told when the forecast for the month exceeds it."""


class Budget(Construct):
    """An AWS budget that counts what carries one tag and tells a topic.

    AWS counts a tag only after it was activated as a cost allocation tag in the account's billing settings, which takes
    up to 24 hours; until then the budget stays at zero.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002
        *,
        monthly_usd: int,
        tag_key: str,
        tag_value: str,
        topic: sns.ITopic,
        topic_policy: IDependable,
    ) -> None:
        """Create the budget.

        Args:
            scope: parent construct.
            id: construct id.
            monthly_usd: the budget in US dollars a month.
            tag_key: key of the tag whose costs count.
            tag_value: value of the tag.
            topic: who is told.
            topic_policy: what allows AWS Budgets to publish; it must be there first.
        """
        super().__init__(scope, id)
        # L1: AWS Budgets has no L2.
        budget = budgets.CfnBudget(
            self,
            "Resource",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=monthly_usd, unit="USD"),
                cost_filters={"TagKeyValue": [f"user:{tag_key}${tag_value}"]},
            ),
            notifications_with_subscribers=[
                *(_notification("ACTUAL", percent, topic) for percent in ACTUAL_PERCENT),
                _notification("FORECASTED", FORECAST_PERCENT, topic),
            ],
        )
        budget.node.add_dependency(topic_policy)
        allow_redundant_depends_on(budget)


def _notification(kind: str, percent: int, topic: sns.ITopic) -> budgets.CfnBudget.NotificationWithSubscribersProperty:
    return budgets.CfnBudget.NotificationWithSubscribersProperty(
        notification=budgets.CfnBudget.NotificationProperty(
            comparison_operator="GREATER_THAN", notification_type=kind, threshold=percent, threshold_type="PERCENTAGE"
        ),
        subscribers=[budgets.CfnBudget.SubscriberProperty(subscription_type="SNS", address=topic.topic_arn)],
    )
