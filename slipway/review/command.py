"""`slipway plan`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from slipway.assembly.choice import AssemblyOption, EnvironmentOption
from slipway.console import JsonOption, reports_errors

FOUND = 1
"""Exit code when the plan has something that `--fail-on` names, or the scanners would fail the synth."""


@reports_errors(interrupted="stopped; nothing was changed")
def plan(
    *,
    environment: EnvironmentOption = None,
    base: Annotated[
        str | None, typer.Option(metavar="REVISION", help="Git revision to compare with, for example origin/main.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Cloud assembly to compare with, instead of --base.")
    ] = None,
    assembly: AssemblyOption = None,
    drift: Annotated[
        bool,
        typer.Option(
            "--drift",
            help="Ask CloudFormation, with credentials, what was changed outside of it (`slipway docs review`).",
        ),
    ] = False,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the comment for a pull request; - is stdout.")
    ] = None,
    as_json: JsonOption = False,
    json_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write that document, beside what else is written.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page with the picture; - is stdout.")
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Exit with 1 on any of: replace, may-replace, remove, data-loss, broadening, security, "
            "cluster-update, drift, unpriced, cost=PERCENT (`slipway docs review`).",
        ),
    ] = "",
) -> None:
    """Say what an environment changes, breaks, costs and how long it deploys, before anyone deploys it.

    Talks to no AWS without --drift. Exit codes: 0 planned; 1 planned, and something is in it that --fail-on names or
    that fails `cdk synth`; 2 not planned.
    """
    # What these import takes seconds that no other command should wait for; synths start before the rest is imported.
    from slipway.review.base_and_head import Question  # noqa: PLC0415
    from slipway.review.outputs import Outputs  # noqa: PLC0415
    from slipway.review.review import review  # noqa: PLC0415

    alarms = review(
        Question(environment, assembly, base, against, drift),
        Outputs(markdown, json_file, html, as_json=as_json),
        fail_on,
    )
    for alarm in alarms:
        print(alarm, file=sys.stderr)
    raise typer.Exit(FOUND if alarms else 0)
