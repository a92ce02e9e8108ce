"""`slipway init` and `slipway setup`."""

import sys
from pathlib import Path
from typing import Annotated, get_args

import typer

from slipway.console import reports_errors
from slipway.errors import RefusedError
from slipway.start.wish import Orchestrator, Size, Wish


@reports_errors()
def init(
    *,
    folder: Annotated[
        Path, typer.Argument(help="The new folder; its name is the environment's unless --name says so.")
    ],
    name: Annotated[str | None, typer.Option(help="Name of the environment.")] = None,
    size: Annotated[Size | None, typer.Option(help="Which shipped environment is the pattern.")] = None,
    region: Annotated[str | None, typer.Option(help="AWS Region, for example us-west-2.")] = None,
    orchestrator: Annotated[Orchestrator | None, typer.Option(help="What runs the jobs.")] = None,
    endpoint: Annotated[bool | None, typer.Option("--endpoint/--no-endpoint", help="Whether it serves models.")] = None,
) -> None:
    """Write a repository for an environment of your own: app.py, cdk.json, the environment file, workflows.

    On a terminal it asks for what the options leave open. Elsewhere all of them are needed.

    Exit codes: 0 written; 2 nothing was written.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.start.repository import write_repository  # noqa: PLC0415

    open_ones = [
        option
        for option, value in (("--size", size), ("--region", region), ("--orchestrator", orchestrator))
        if value is None
    ] + ([] if endpoint is not None else ["--endpoint or --no-endpoint"])
    if open_ones and not sys.stdin.isatty():
        raise RefusedError(f"say {', '.join(open_ones)}: there is no terminal to ask. Nothing was written")
    wish = Wish(
        name=name or folder.resolve().name,
        size=size or typer.prompt("Size: " + ", ".join(get_args(Size)), default="small"),
        region=region or typer.prompt("AWS Region", default="us-west-2"),
        orchestrator=orchestrator or typer.prompt("What runs the jobs: slurm or kubernetes", default="slurm"),
        endpoint=typer.confirm("Does it serve models?", default=True) if endpoint is None else endpoint,
    )
    write_repository(folder, wish)
    typer.echo(f"{folder} has the environment {wish.name}. Go on:\n  cd {folder}\n  slipway setup")
    typer.echo(f"  slipway plan -e {wish.name}")


@reports_errors()
def setup() -> None:
    """Install the CDK CLI and aws-parallelcluster into this repository's `.tools`, as this Slipway pins them.

    Exit codes: 0 they are there; 1 an installer failed; 2 nothing was installed.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.start.setup import set_up  # noqa: PLC0415

    set_up()
