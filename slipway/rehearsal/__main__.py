"""`python -m slipway.rehearsal`: rehearse one environment. docs/rehearsal.md explains what that proves.

Exit codes: 0 the rehearsal passed; 1 it failed, or the environment file is invalid; 2 it could not start (unknown
environment, folder in use, something is not installed); 128 + the signal's number when it was stopped (Ctrl-C: 130).
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from slipway.rehearsal.folder import FolderUnusableError, LockedFolder, RunFolder
from slipway.rehearsal.processes import Interrupted, stop_on_signals
from slipway.rehearsal.progress import Progress
from slipway.rehearsal.rehearsal import Rehearsal
from slipway.rehearsal.report_text import report_console, show
from slipway.rehearsal.session import Session, Subject
from slipway.rehearsal.toolchain import SetUpMissingError, Toolchain
from slipway.spec.loader import load_environment
from slipway.spec.problems import InvalidEnvironment

PROJECT = Path(__file__).parents[2]
FAILED = 1
NOT_STARTED = 2
STOPPED = 128


def rehearse(
    environment: Annotated[
        str, typer.Option(help="A name in environments/, or a path that ends in .yaml.")
    ] = "default",
    directory: Annotated[Path, typer.Option(help="Folder for everything that is written.")] = PROJECT / ".rehearsal",
) -> None:
    """Deploy and destroy an environment on an emulated AWS on this machine, with the real CDK CLI."""
    try:
        subject = _subject(environment)
        toolchain = Toolchain.of_project(PROJECT)
        folder = RunFolder(directory.resolve() / subject.name)
        stop_on_signals()
        with LockedFolder(folder):
            raise typer.Exit(_run(subject, toolchain, folder))
    except Interrupted as interrupt:
        raise typer.Exit(STOPPED + interrupt.number) from None
    except (FolderUnusableError, SetUpMissingError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(NOT_STARTED) from error


def _run(subject: Subject, toolchain: Toolchain, folder: RunFolder) -> int:
    """Rehearse and return the exit code."""
    console = report_console()
    session = Session(subject, toolchain, folder, Progress(console, os.environ))
    rehearsal = Rehearsal(session)
    report = rehearsal.run()
    if rehearsal.interrupted_by is not None:
        typer.echo(report.verdict, err=True)
        return STOPPED + rehearsal.interrupted_by
    show(report, folder.report, console)
    return 0 if report.outcome == "passed" else FAILED


def _subject(environment: str) -> Subject:
    """Find and read the environment file; a wrong one ends the program with all its problems."""
    file = Path(environment).resolve()
    if not environment.endswith(".yaml"):
        file = PROJECT / "environments" / f"{environment}.yaml"
        if not file.is_file():
            known = ", ".join(sorted(path.stem for path in file.parent.glob("*.yaml")))
            typer.echo(f"there is no environment {environment!r}; environments/ has: {known}", err=True)
            raise typer.Exit(NOT_STARTED)
    try:
        content = load_environment(file)
    except InvalidEnvironment as invalid:
        typer.echo(str(invalid), err=True)
        raise typer.Exit(FAILED) from invalid
    lifecycle = content.storage.lifecycle or content.lifecycle
    return Subject(content.name, file, keeps_data=lifecycle == "persistent")


if __name__ == "__main__":
    typer.run(rehearse)
