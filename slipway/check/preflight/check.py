"""The registry of checks, and how one is run so that a refusal of AWS is never taken for a pass."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from botocore.exceptions import ClientError

from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.needs import Needs

Ask = Callable[[Needs, Account], Iterator[Answer]]
"""Yields an answer for every thing that a check looks at, and none when the stacks need nothing of it. It may raise
what boto3 raises."""

Stage = Literal["offline", "identity", "catalogue", "quota", "existence", "capacity"]
"""When a check runs: those of one stage side by side, stage after stage. `offline` asks AWS nothing. `capacity` makes
something that bills, and runs only when asked for."""

REFUSALS = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "UnauthorizedOperation",
        "AuthorizationError",
        "ForbiddenException",
        "403",
    }
)
"""How services say that the caller may not: `ForbiddenException` is Resource Groups', and `403` is all that a HEAD
request of S3 can say."""

BY_ORGANIZATION = "service control policy"
"""Part of a refusal that no policy of the caller's own can lift: `with an explicit deny in a service control policy`,
`because no service control policy allows the ... action` (IAM User Guide, "access denied error messages")."""


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        id: for example `PF06`.
        title: what it looks at, in a few words.
        stage: when it runs.
        prevents: the failure that it saves the user from, a sentence.
        actions: the IAM actions that it needs, sorted.
        ask: the check itself.
    """

    id: str
    title: str
    stage: Stage
    prevents: str
    actions: tuple[str, ...]
    ask: Ask


CHECKS: dict[str, Check] = {}
"""All checks by id; complete once `slipway.check.preflight.checks` is imported."""


def check(
    id: str,  # noqa: A002 - what users call it
    title: str,
    *,
    stage: Stage,
    prevents: str,
    actions: tuple[str, ...] = (),
) -> Callable[[Ask], Ask]:
    """Register a function as a check; the arguments are those of `Check`."""

    def register(ask: Ask) -> Ask:
        CHECKS[id] = Check(id, title, stage, prevents, tuple(sorted(actions)), ask)
        return ask

    return register


def run(checked: Check, needs: Needs, account: Account) -> list[Answer]:
    """Run one check. What it had found before AWS refused or did not answer is kept; the rest is not checked.

    An answer that a check does not understand takes the other checks' answers from nobody.
    """
    answers: list[Answer] = []
    try:
        answers.extend(checked.ask(needs, account))
    except UNANSWERED as error:
        answers.append(not_checked(checked.id, checked.title, error))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        answers.append(
            Answer(
                check=checked.id,
                status="not_checked",
                subject=checked.title,
                message=f"Slipway does not understand AWS's answer: {error!r}",
                fix="report it with this message: it is a defect of Slipway",
            )
        )
    return answers


def not_checked(id: str, subject: str, error: Exception) -> Answer:  # noqa: A002
    """Return the answer about something that AWS did not say.

    A check that has more to ask catches `UNANSWERED` around one thing, yields this, and goes on.

    Args:
        id: of the check.
        subject: what was to be looked at.
        error: what boto3 raised, one of `UNANSWERED`.
    """
    refused = isinstance(error, ClientError) and error.response.get("Error", {}).get("Code") in REFUSALS
    allow = f"allow {', '.join(CHECKS[id].actions)}"
    if BY_ORGANIZATION in str(error):
        allow = f"ask who keeps the organization's policies to {allow}"
    return Answer(
        check=id,
        status="not_checked",
        subject=subject,
        message=f"AWS refuses to answer: {error}" if refused else f"AWS does not answer: {error}",
        fix=allow if refused else "run the preflight again",
    )
