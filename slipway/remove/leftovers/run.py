"""One run of `slipway leftovers`: look, and say it."""

import typer

from slipway.aws.account import open_account
from slipway.aws.refusals import UNANSWERED, words_of
from slipway.remove.leftovers.environment import NotLookedError
from slipway.remove.leftovers.findings import Findings
from slipway.remove.leftovers.look import look
from slipway.remove.leftovers.ownership import Subject
from slipway.remove.leftovers.report import lines


def run(subject: Subject, *, as_json: bool) -> Findings:
    """Look, and say what was found.

    Args:
        subject: whose things are looked for.
        as_json: print the findings as JSON instead of lines.

    Raises:
        RefusedError: there are no credentials, or another account's.
        NotLookedError: AWS does not say which stacks are deployed.
    """
    account = open_account(subject.region, subject.account)
    try:
        found = look(subject, account)
    except UNANSWERED as error:
        raise NotLookedError(f"AWS does not say what exists: {words_of(error)}") from error
    typer.echo(found.model_dump_json(indent=2) if as_json else "\n".join(lines(found)).lstrip("\n"))
    return found
