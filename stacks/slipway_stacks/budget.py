"""The budget of an environment, and what happens when it is spent."""

from constructs import Construct

from neuron_constructs.operations.budget import Budget, BudgetProps
from neuron_constructs.operations.budget_action import BudgetAction, BudgetActionProps
from neuron_constructs.operations.budget_action_permissions import StoppedParts
from neuron_constructs.operations.notifications import Notifications
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.bundle import ASSETS
from slipway.config.environment import Environment
from slipway_stacks.inference import InferenceStack
from slipway_stacks.kubernetes import KubernetesStack
from slipway_stacks.settings.lifetimes import log_retention

CODE = ASSETS / "operations"


def add_budget(
    scope: Construct,
    environment: Environment,
    notifications: Notifications,
    *,
    kubernetes: KubernetesStack | None,
    inference: InferenceStack | None,
) -> None:
    """Add the budget to the operations stack, when the environment file has one.

    Args:
        scope: the stack.
        environment: the environment file.
        notifications: who is told.
        kubernetes: the stack with the EKS cluster, if the environment has one.
        inference: the inference stack, if the environment has one.
    """
    operations = environment.operations
    if not operations.monthly_budget_usd:
        return
    action = None
    if operations.at_budget == "stop":
        action = BudgetAction(
            scope,
            "BudgetAction",
            BudgetActionProps(
                environment=environment.name,
                parts=_stopped_parts(environment, kubernetes, inference),
                notifications=notifications.topic,
                code=CODE,
                log_retention=log_retention(environment),
            ),
        )
    Budget(
        scope,
        # Another amount is another budget. AWS Budgets tells each alert of a budget once in a period (Cost Management
        # User Guide, "Best practices for AWS Budgets"): one that was spent, and is raised, could stay silent all month.
        f"Budget{operations.monthly_budget_usd}",
        BudgetProps(
            monthly_usd=operations.monthly_budget_usd,
            tag_key=ENVIRONMENT_TAG,
            tag_value=environment.name,
            topic=notifications.topic,
            topic_policy=notifications,
            spent_topic=action.topic if action else None,
            email=operations.alarm_email,
        ),
    )


def _stopped_parts(
    environment: Environment, kubernetes: KubernetesStack | None, inference: InferenceStack | None
) -> StoppedParts:
    """Return names alone: the operations stack must not hold the others."""
    return StoppedParts(
        slurm_clusters=(environment.training.cluster_name,) if environment.training else (),
        kubernetes_clusters=(kubernetes.cluster_name,) if kubernetes else (),
        services=tuple(f"{inference.stack_name}/{name}" for model in inference.models for name in model.service_names)
        if inference
        else (),
    )
