"""The function that AWS Budgets calls, through a topic of its own, when the whole budget is spent."""

import logging
import os
import re
from typing import Any

import boto3

from slipway_pause.environment import Targets, stop
from slipway_pause.message import ignored_subject, ignored_text, subject, text

_LOG = logging.getLogger()
_LOG.setLevel(logging.INFO)

# Subject and text of an alert; either is enough.
_ALERT = re.compile(r"exceeded your alert threshold|AWS Budget Notification", re.IGNORECASE)


class NotAllStoppedError(Exception):
    """Something still runs. Lambda calls again twice; then the event goes to the topic of notifications."""


def handle(event: dict[str, Any], _context: object) -> None:
    """Stop the environment, and tell people what was stopped and what was not.

    Only the notification of the whole budget, actually spent, goes to the topic, so every alert means the same. But AWS
    Budgets also tries a topic that a new budget names, with a message of its own ("SNS Topic Verified!"): a deployment
    must not stop what it deploys. Whatever is no alert stops nothing, and people are told.

    Args:
        event: Amazon SNS' event, with AWS Budgets' message.

    Raises:
        NotAllStoppedError: something could not be stopped.
    """
    environment = os.environ["SLIPWAY_ENVIRONMENT"]
    messages = [record["Sns"] for record in event.get("Records", [])]
    said = "\n".join(f"{message.get('Subject') or ''}\n{message['Message']}" for message in messages)
    if not _ALERT.search(said):
        _LOG.info("no alert, nothing is stopped: %s", said)
        _tell(ignored_subject(environment), ignored_text(environment, said))
        return
    outcomes = stop(Targets.read(os.environ["SLIPWAY_TARGETS"]), boto3.Session())
    for outcome in outcomes:
        _LOG.log(logging.ERROR if outcome.failed else logging.INFO, "%s", outcome)
    _tell(subject(environment, outcomes), text(environment, outcomes, said))
    if any(outcome.failed for outcome in outcomes):
        raise NotAllStoppedError("; ".join(str(outcome) for outcome in outcomes if outcome.failed))


def _tell(about: str, message: str) -> None:
    boto3.client("sns").publish(TopicArn=os.environ["SLIPWAY_TOPIC_ARN"], Subject=about, Message=message)
