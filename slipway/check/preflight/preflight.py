"""What a preflight found out, and how it runs."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

from pydantic import BaseModel, ConfigDict

from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.preflight.answer import Answer, Status
from slipway.check.preflight.check import Check, Stage, run
from slipway.check.preflight.needs import Needs

PASSED, FAILED, NOT_CHECKED = 0, 1, 2
"""Exit codes: nothing stands in the way; something does; nothing could be checked."""

_STAGES: tuple[Stage, ...] = get_args(Stage)
_BEFORE_IDENTITY: tuple[Stage, ...] = ("offline", "identity")
_SIDE_BY_SIDE = 8
"""Checks at a time: they wait for AWS, not for the processor."""


class Preflight(BaseModel):
    """The answers about one environment in one account."""

    model_config = ConfigDict(frozen=True)

    environment: str
    region: str
    account_id: str | None
    """None when AWS takes no credentials or does not answer, and then nothing else was asked; or when no check asks."""

    stacks: tuple[str, ...]
    answers: tuple[Answer, ...]
    """In the order of the checks."""

    not_needed: tuple[str, ...]
    """Ids of the checks that these stacks give nothing to look at."""

    asked: tuple[str, ...]
    """Ids of the checks that need AWS's permission; all others say nothing about what AWS would tell."""

    def of(self, status: Status) -> tuple[Answer, ...]:
        """Return the answers with this status."""
        return tuple(answer for answer in self.answers if answer.status == status)

    def exit_code(self, *, strict: bool) -> int:
        """Return 0, 1 or 2 (see the constants).

        Args:
            strict: what was not checked, and a warning, count as failed.
        """
        statuses = {answer.status for answer in self.answers}
        if self.account_id is None and statuses & {"failed", "not_checked"}:
            return NOT_CHECKED
        if "failed" not in statuses and {a.status for a in self.answers if a.check in self.asked} == {"not_checked"}:
            return NOT_CHECKED
        alarming = {"failed", "warning", "not_checked"} if strict else {"failed"}
        return FAILED if statuses & alarming else PASSED


def preflight(
    checks: Sequence[Check], needs: Needs, account: Account, progress: Callable[[Check], None] = lambda _: None
) -> Preflight:
    """Run checks, stage after stage.

    Args:
        checks: which.
        needs: what they are asked about.
        account: who is asked.
        progress: gets each check that is done, from several threads.
    """
    account_id, reason = _identity(checks, account)

    def ask(check: Check) -> list[Answer]:
        known = account_id is not None or check.stage in _BEFORE_IDENTITY
        answers = run(check, needs, account) if known else [_not_asked(check, reason)]
        progress(check)
        return answers

    found: dict[str, list[Answer]] = {}
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        try:
            for stage in _STAGES:
                together = [check for check in checks if check.stage == stage]
                found.update(zip((check.id for check in together), pool.map(ask, together), strict=True))
        except KeyboardInterrupt:
            # The pool waits for what runs: a reservation that was made is cancelled, and no other one is made.
            account.interrupted.set()
            raise
    return Preflight(
        environment=needs.environment,
        region=needs.region,
        account_id=account_id,
        stacks=tuple(stack.name for stack in needs.stacks),
        answers=tuple(answer for check in checks for answer in found[check.id]),
        not_needed=tuple(check.id for check in checks if not found[check.id]),
        asked=tuple(check.id for check in checks if check.actions and check.stage != "identity"),
    )


def _identity(checks: Sequence[Check], account: Account) -> tuple[str | None, str]:
    """Return the account's id, or why it is not known."""
    if all(check.stage == "offline" for check in checks):
        return None, "nobody asked"
    try:
        return account.caller.account_id, ""
    except UNANSWERED as error:
        return None, str(error)


def _not_asked(check: Check, reason: str) -> Answer:
    return Answer(
        check=check.id,
        status="not_checked",
        subject="all of it",
        message=f"not asked, as AWS does not say whose credentials these are: {reason}",
        fix="log in, set AWS_PROFILE, or let AWS be reached, and run the preflight again",
    )
