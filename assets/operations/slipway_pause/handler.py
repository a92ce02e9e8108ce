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

# How AWS Budgets tries a topic that a new budget names. Seen in public: "SNS Topic Verified!".
_TRIAL = re.compile(r"\b(verif|validat)", re.IGNORECASE)
# Words of an alert, as text ("... has exceeded your alert threshold", "AWS Budget Notification") or as JSON.
_ALERT = re.compile(r"threshold|budget notification|exceed|budgeted|over.?budget", re.IGNORECASE)


class NotAllStoppedError(Exception):
    """Something still runs. Lambda calls again twice; then the event goes to the topic of notifications."""


def handle(event: dict[str, Any], _context: object) -> None:
    """Stop the environment, and tell people what was stopped and what was not.

    Only the notification of the whole budget, actually spent, goes to the topic, so every alert means the same. But AWS
    Budgets also tries a topic that a new budget names: a deployment must not stop what it deploys. That message stops
    nothing, and people are told. Any other stops: AWS documents no form of an alert, and one that is not understood
    costs more than a pause that is taken back.

    Args:
        event: Amazon SNS' event, with AWS Budgets' message.

    Raises:
        NotAllStoppedError: something could not be stopped.
    """
    environment = os.environ["SLIPWAY_ENVIRONMENT"]
    messages = [_said(record["Sns"]) for record in event.get("Records", [])]
    said = "\n".join(messages)
    if not any(_is_alert(message) for message in messages):
        _LOG.info("no alert, nothing is stopped: %s", said)
        _tell(ignored_subject(environment), ignored_text(environment, said))
        return
    outcomes = stop(Targets.read(os.environ["SLIPWAY_TARGETS"]), boto3.Session())
    for outcome in outcomes:
        _LOG.log(logging.ERROR if outcome.failed else logging.INFO, "%s", outcome)
    _tell(subject(environment, outcomes), text(environment, outcomes, said))
    if any(outcome.failed for outcome in outcomes):
        raise NotAllStoppedError("; ".join(str(outcome) for outcome in outcomes if outcome.failed))


def _said(message: dict[str, Any]) -> str:
    return f"{message.get('Subject') or ''}\n{message['Message']}"


def _is_alert(said: str) -> bool:
    return bool(_ALERT.search(said)) or not _TRIAL.search(said)


def _tell(about: str, message: str) -> None:
    boto3.client("sns").publish(TopicArn=os.environ["SLIPWAY_TOPIC_ARN"], Subject=about, Message=message)
