"""The topic that alarms and the budget speak to."""

from collections.abc import Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov

BUDGETS = "budgets.amazonaws.com"
"""Service principal of AWS Budgets."""

_CLOUDWATCH = "cloudwatch.amazonaws.com"
_NO_KEY = (
    "Messages name an alarm or an amount, no data. Each service that publishes would need a grant on a customer key, "
    "and a mistake there silences the alarms."
)


class Notifications(Construct):
    """An SNS topic that CloudWatch and AWS Budgets of this account may publish to, over TLS."""

    topic: sns.Topic

    def __init__(self, scope: Construct, id: str, *, account: str, email: str | None) -> None:  # noqa: A002
        """Create the topic.

        Args:
            scope: parent construct.
            id: construct id.
            account: the account whose alarms and budget may publish.
            email: address to subscribe; AWS asks it to confirm once.
        """
        super().__init__(scope, id)
        self.topic = topic_for(self, account=account, services=(_CLOUDWATCH, BUDGETS))
        if email:
            self.topic.add_subscription(subscriptions.EmailSubscription(email))


def topic_for(scope: Construct, *, account: str, services: Sequence[str]) -> sns.Topic:
    """Return a topic that services of AWS may publish to, for one account and over TLS.

    Args:
        scope: parent construct; it has one topic.
        account: the account for which they may.
        services: their service principals.
    """
    topic = sns.Topic(scope, "Topic", enforce_ssl=True)
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            actions=["sns:Publish"],
            principals=[iam.ServicePrincipal(service) for service in services],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": account}},
        )
    )
    acknowledge(topic, {"NIST.800.53.R5-SNSEncryptedKMS": _NO_KEY})
    skip_checkov(topic.node.default_child, {"CKV_AWS_26": _NO_KEY})
    return topic
