"""What stops an environment when its budget is spent."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, allow_redundant_depends_on, skip_checkov
from neuron_constructs.log_groups import stack_log_group
from neuron_constructs.operations.budget_action_permissions import StoppedParts, permissions
from neuron_constructs.operations.notifications import BUDGETS, topic_for

FUNCTION_SECONDS = 300
"""How long one call may take: some ten calls of AWS for each service and node group, with the SDK's own retries."""

_NO_RESERVATION = (
    "Two at once do no harm, and AWS lets nobody reserve concurrency in a new account, whose limit is 10: the stack "
    "could not be deployed there."
)
_NO_VPC = "It talks to AWS's public APIs alone; in the VPC it would depend on NAT gateways to switch things off."
_NO_SECRETS = "Its variables are names of clusters and services and a topic's ARN, no secrets."


@dataclass(frozen=True, kw_only=True)
class BudgetActionProps:
    """Properties of a `BudgetAction`."""

    environment: str
    """Name of the environment, for messages."""

    parts: StoppedParts
    """What is stopped. It need not exist when the function is deployed: names are enough."""

    notifications: sns.ITopic
    """Who is told what was stopped and what was not."""

    code: Path
    """Folder with the package `slipway_pause`: assets/operations."""

    log_retention: logs.RetentionDays
    """How long the function's log is kept."""


class BudgetAction(Construct):
    """A topic for AWS Budgets, and a function behind it that stops training and inference and says so.

    It is called once for each time that the whole budget is spent, and twice more when it fails; what it has stopped it
    leaves alone. After the third failure the event itself goes to `notifications`. It depends on no other stack.
    """

    topic: sns.Topic
    """The topic that AWS Budgets may publish to; every message stops the environment, but the one that tries it."""

    function: lambda_.Function

    def __init__(self, scope: Construct, id: str, props: BudgetActionProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.topic = topic_for(self, account=cdk.Stack.of(self).account, services=(BUDGETS,))
        log_group = stack_log_group(self, "Logs", retention=props.log_retention)
        role = iam.Role(
            self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"), description="Slipway: stop at budget"
        )
        policy = permissions(self, "Permissions", props.parts, role, log_group=log_group, topic=props.notifications)
        self.function = lambda_.Function(
            self,
            "Function",
            description=f"Stops environment {props.environment} when its budget is spent",
            runtime=lambda_.Runtime.PYTHON_3_14,
            architecture=lambda_.Architecture.ARM_64,
            handler="slipway_pause.handler.handle",
            code=lambda_.Code.from_asset(
                str(props.code), exclude=["*", "!slipway_pause", "!slipway_pause/**", "**/__pycache__"]
            ),
            timeout=cdk.Duration.seconds(FUNCTION_SECONDS),
            memory_size=256,
            # All it may do is in the one policy.
            role=role.without_policy_updates(),
            log_group=log_group,
            dead_letter_topic=props.notifications,
            environment={
                "SLIPWAY_ENVIRONMENT": props.environment,
                "SLIPWAY_TARGETS": json.dumps(asdict(props.parts)),
                "SLIPWAY_TOPIC_ARN": props.notifications.topic_arn,
            },
        )
        # Lambda refuses a function whose role may not publish to its dead-letter topic.
        self.function.node.add_dependency(policy)
        self.topic.add_subscription(subscriptions.LambdaSubscription(self.function))
        self._accept_shape()

    def _accept_shape(self) -> None:
        acknowledge(
            self.function,
            {
                "NIST.800.53.R5-LambdaConcurrency": _NO_RESERVATION,
                "NIST.800.53.R5-LambdaInsideVPC": _NO_VPC,
            },
        )
        skip_checkov(
            self.function.node.default_child,
            {"CKV_AWS_115": _NO_RESERVATION, "CKV_AWS_117": _NO_VPC, "CKV_AWS_173": _NO_SECRETS},
        )
        allow_redundant_depends_on(self.function.node.default_child)
