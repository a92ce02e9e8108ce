"""One run of `slipway leftovers`: look, and say it."""

from pathlib import Path

import typer

from slipway.remove.leftovers.calls import UNANSWERED, words_of
from slipway.remove.leftovers.environment import NotLookedError
from slipway.remove.leftovers.findings import Findings
from slipway.remove.leftovers.look import Clients, look
from slipway.remove.leftovers.ownership import Subject
from slipway.remove.leftovers.report import lines


def run(subject: Subject, json: Path | None) -> Findings:
    """Look, and say what was found.

    Args:
        subject: whose things are looked for.
        json: file that the findings are written to; `-`: they are said as JSON instead.

    Raises:
        NotLookedError: there are no credentials, or AWS does not tell what stands.
    """
    try:
        found = look(subject, Clients(subject.region))
    except UNANSWERED as error:
        raise NotLookedError(f"AWS does not tell what stands: {words_of(error)}. Log in, or set AWS_PROFILE") from error
    document = found.model_dump_json(indent=2)
    if str(json) == "-":
        typer.echo(document)
        return found
    if json is not None:
        json.write_text(document + "\n", encoding="utf-8")
    typer.echo("\n".join(lines(found)).lstrip("\n"))
    return found
