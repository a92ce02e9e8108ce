"""The function that AWS Budgets calls, through a topic of its own, when the whole budget is spent."""

import logging
import os
from typing import Any

import boto3

from slipway_pause.environment import Targets, stop
from slipway_pause.message import subject, text

_LOG = logging.getLogger()
_LOG.setLevel(logging.INFO)


class NotAllStoppedError(Exception):
    """Something still runs. Lambda calls again twice; then the event goes to the topic of notifications."""


def handle(event: dict[str, Any], _context: object) -> None:
    """Stop the environment, and tell people what was stopped and what was not.

    Every message of the topic means the same: only the notification of the whole budget, actually spent, goes there.

    Args:
        event: Amazon SNS' event, with AWS Budgets' message.

    Raises:
        NotAllStoppedError: something could not be stopped.
    """
    environment = os.environ["SLIPWAY_ENVIRONMENT"]
    outcomes = stop(Targets.read(os.environ["SLIPWAY_TARGETS"]), boto3.Session())
    for outcome in outcomes:
        _LOG.log(logging.ERROR if outcome.failed else logging.INFO, "%s", outcome)
    said = "\n".join(record["Sns"]["Message"] for record in event.get("Records", []))
    boto3.client("sns").publish(
        TopicArn=os.environ["SLIPWAY_TOPIC_ARN"],
        Subject=subject(environment, outcomes),
        Message=text(environment, outcomes, said),
    )
    if any(outcome.failed for outcome in outcomes):
        raise NotAllStoppedError("; ".join(str(outcome) for outcome in outcomes if outcome.failed))
