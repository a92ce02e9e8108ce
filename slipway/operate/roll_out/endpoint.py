"""A deployed endpoint, and the steps that are taken on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from slipway.aws.account import open_account
from slipway.aws.refusals import explained
from slipway.errors import FailedError, RefusedError
from slipway.operate.roll_out.environment import Place
from slipway.operate.roll_out.published import ModelBucket
from slipway.operate.roll_out.service import InferenceStack, find_inference_stack
from slipway.operate.roll_out.state import Step, prefix_of
from slipway.operate.roll_out.tasks import Tasks, find_tasks, is_paused
from slipway.operate.roll_out.update import Update


@dataclass(frozen=True)
class Endpoint:
    """A deployed endpoint, as it was found.

    Attributes:
        account: its AWS account.
        stack: the stack; the ECS cluster has its name.
        bucket: the model bucket.
        ecs: boto3 client.
    """

    account: str
    stack: InferenceStack
    bucket: ModelBucket
    ecs: Any

    def tasks(self, service: str) -> Tasks:
        """Return how many tasks a service has."""
        return find_tasks(self.ecs, self.stack.name, service)

    def is_paused(self, model: str) -> bool:
        """Return whether a budget, or `slipway pause`, has stopped a model."""
        return is_paused(self.ecs, self.stack.name, self.stack.services[model].service_name)

    def candidate_problem(self, model: str, step: Step) -> str | None:
        """Return why a step that sends more requests to a candidate must not be taken: it has no task."""
        if step.after.percent <= step.before.percent:
            return None
        tasks = self.tasks(self.stack.services[model].candidate_name)
        if tasks.running:
            return None
        return (
            f"the candidate {prefix_of(step.after.candidate)} has no running task ({tasks}), and requests for it "
            "would be answered with 503. Its service's events in the ECS console say why; --abort ends it"
        )

    def carry_out(self, model: str, steps: Sequence[Step], timeout_seconds: float, tell: Callable[[str], None]) -> None:
        """Take one step after the other, each when the one before is done.

        Args:
            model: the model's name.
            steps: the steps.
            timeout_seconds: how long each is followed.
            tell: called with a line of progress.

        Raises:
            RefusedError: the first one could not begin.
            FailedError: a step did not end as it should; the message says what is served.
        """
        update = Update(self.stack, model, timeout_seconds, tell)
        for step in steps:
            if len(steps) > 1:
                tell(f"{step.doing} ...")
            try:
                if problem := self.candidate_problem(model, step):
                    raise FailedError(f"{problem}. Not done: {step.doing}. Now {step.before}")
                update.carry_out(step, self.tasks(self.stack.services[model].service_name).wanted)
            except (BotoCoreError, ClientError) as error:
                if step is steps[0] and getattr(error, "operation_name", "") == "UpdateStack":
                    raise RefusedError(f"{explained(error)}. Nothing was changed") from error
                raise FailedError(
                    f"{explained(error)}. Perhaps not done: {step.doing}. `slipway roll-out` says what is served; "
                    "--canary, --promote and --abort go on where they were"
                ) from error


def open_endpoint(place: Place) -> Endpoint:
    """Find a deployed endpoint with the credentials that boto3 finds.

    Raises:
        RefusedError: it is not deployed, or not with a model that is rolled out.
        botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError: AWS refuses, or does not answer.
    """
    account = open_account(place.region, place.account)
    found = find_inference_stack(account.client("cloudformation"), place.stack)
    bucket = ModelBucket(account.client("s3"), found.bucket, account.id)
    return Endpoint(account.id, found, bucket, account.client("ecs"))
