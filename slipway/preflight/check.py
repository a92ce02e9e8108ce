"""The registry of checks, and how one is run so that a refusal of AWS is never taken for a pass."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from slipway.preflight.account import Account
from slipway.preflight.answer import Answer
from slipway.preflight.needs import Needs

Ask = Callable[[Needs, Account], Iterator[Answer]]
"""Yields an answer for every thing that a check looks at. It may raise what boto3 raises."""

_REFUSALS = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError"})


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        id: for example `PF06`.
        title: what it looks at, in a few words.
        prevents: the failure that it saves the user from, a sentence.
        actions: the IAM actions that it needs.
        ask: the check itself.
        costs_money: whether it makes something that bills; such a check runs only when asked for.
    """

    id: str
    title: str
    prevents: str
    actions: tuple[str, ...]
    ask: Ask
    costs_money: bool = False


CHECKS: dict[str, Check] = {}
"""All checks by id, in the order in which their modules are imported."""


def check(
    id: str, title: str, *, prevents: str, actions: tuple[str, ...], costs_money: bool = False
) -> Callable[[Ask], Ask]:  # noqa: A002
    """Register a function as a check; the arguments are those of `Check`."""

    def register(ask: Ask) -> Ask:
        CHECKS[id] = Check(id, title, prevents, actions, ask, costs_money)
        return ask

    return register


def run(checked: Check, needs: Needs, account: Account) -> list[Answer]:
    """Run one check. What it had found before AWS refused or did not answer is kept; the rest is not checked."""
    answers: list[Answer] = []
    try:
        answers.extend(checked.ask(needs, account))
    except (ClientError, BotoCoreError) as error:
        answers.append(_not_checked(checked, error))
    return answers


def _not_checked(checked: Check, error: Exception) -> Answer:
    refused = isinstance(error, ClientError) and error.response.get("Error", {}).get("Code") in _REFUSALS
    return Answer(
        check=checked.id,
        status="not_checked",
        subject=checked.title,
        message=f"AWS refuses to tell: {error}" if refused else f"AWS does not answer: {error}",
        fix=f"allow {', '.join(checked.actions)}" if refused else "run the preflight again",
    )
