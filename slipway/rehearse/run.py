"""One rehearsal of an environment. docs/rehearsal.md explains what that proves."""

from pathlib import Path

import typer

from slipway.assembly.environment_files import ENVIRONMENTS, environment_file
from slipway.config.environment import Environment
from slipway.config.loader import load_environment
from slipway.config.problems import InvalidEnvironment
from slipway.errors import RefusedError
from slipway.project import PROJECT
from slipway.rehearse.folder import FolderUnusableError, LockedFolder, RunFolder
from slipway.rehearse.processes import Interrupted, stop_on_signals
from slipway.rehearse.progress import Progress
from slipway.rehearse.rehearsal import Rehearsal
from slipway.rehearse.report_page import write_page
from slipway.rehearse.report_text import write_text
from slipway.rehearse.session import Session, Subject
from slipway.rehearse.summary import print_summary
from slipway.rehearse.toolchain import SetUpMissingError, Toolchain
from slipway.terminal import screen

FAILED = 1
NOT_STARTED = 2
STOPPED = 128


def rehearse(environment: str, directory: Path, *, as_json: bool = False) -> int:
    """Find the environment and the programs, rehearse, and return the exit code.

    Args:
        environment: name or file of an environment.
        directory: folder for everything that is written.
        as_json: print the report as JSON, and nothing else on the standard output.

    Returns:
        0: passed; 1: it failed; 2: it could not start; 128 and the signal's number: it was stopped.

    Raises:
        RefusedError: the environment is unknown, its file is invalid, or a program is missing.
    """
    subject = subject_of(environment)
    toolchain = Toolchain.of_project(PROJECT)
    try:
        toolchain.require_installed()
    except SetUpMissingError as error:
        raise RefusedError(str(error)) from error
    return run(subject, toolchain, directory.resolve(), as_json=as_json)


def run(subject: Subject, toolchain: Toolchain, directory: Path, *, as_json: bool = False) -> int:
    """Rehearse in the folder `directory/<environment>`, print the report and return the exit code."""
    folder = RunFolder(directory / subject.name)
    stop_on_signals()
    try:
        with LockedFolder(folder):
            return _run_in(folder, subject, toolchain, as_json=as_json)
    except FolderUnusableError as error:
        typer.echo(str(error), err=True)
        return NOT_STARTED
    except Interrupted as interrupt:
        return STOPPED + interrupt.number


def _run_in(folder: RunFolder, subject: Subject, toolchain: Toolchain, *, as_json: bool) -> int:
    console = screen(errors=as_json)
    rehearsal = Rehearsal(Session(subject, toolchain, folder, Progress(console)))
    report = rehearsal.run()
    write_text(report, folder.text_report)
    write_page(report, folder)
    if rehearsal.interrupted_by is not None:
        typer.echo(report.verdict, err=True)
        return STOPPED + rehearsal.interrupted_by
    if as_json:
        typer.echo(report.model_dump_json(indent=2))
    else:
        print_summary(report, folder, console)
    return 0 if report.outcome == "passed" else FAILED


def subject_of(environment: str) -> Subject:
    """Find and read the environment file.

    Args:
        environment: name or file of an environment.

    Raises:
        RefusedError: the environment is unknown, or its file is invalid.
    """
    file = environment_file(environment)
    if file.parent == ENVIRONMENTS and not file.is_file():
        known = ", ".join(sorted(path.stem for path in ENVIRONMENTS.glob("*.yaml")))
        raise RefusedError(f"there is no environment {environment!r}; environments/ has: {known}")
    try:
        content = load_environment(file)
    except InvalidEnvironment as invalid:
        raise RefusedError(str(invalid)) from invalid
    return Subject(
        content.name,
        file.resolve(),
        keeps_data=_keeps_data(content),
        certificate_arns=_certificate_arns(content),
    )


def _certificate_arns(environment: Environment) -> tuple[str, ...]:
    """Return what the environment's endpoint shows its clients, where it has one."""
    arn = environment.inference and environment.inference.endpoint.certificate_arn
    return (arn,) if arn else ()


def _keeps_data(environment: Environment) -> bool:
    """Return whether anything of the environment's storage is `persistent`."""
    storage = environment.storage
    of_storage = storage.lifecycle or environment.lifecycle
    apart = [part.lifecycle for part in (storage.lustre, storage.home) if part]
    return "persistent" in (of_storage, *apart)
