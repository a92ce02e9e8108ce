"""Finds the runs of a cluster by their folders."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from slipway_jobs.chain.record import read_chain
from slipway_jobs.chain.scheduler import Scheduler
from slipway_jobs.environment import ENVIRONMENT_FILE, Environment, environment_file, read_environment
from slipway_jobs.run import RUN_FILE, Run, read_run
from slipway_jobs.submit.scheduler_choice import scheduler_of


class NoSuchRun(Exception):  # noqa: N818 (a user's mistake, not an error of the program)
    """A run, or the cluster's description, cannot be found or read; the message says what to do."""


def scheduler_here() -> Scheduler:
    """Return the scheduler of this place.

    Raises:
        NoSuchRun: the environment's file cannot be read.
    """
    return scheduler_of(environment_here())


def environment_here() -> Environment:
    """Return the environment of this place.

    Raises:
        NoSuchRun: its file cannot be read.
    """
    file = environment_file()
    try:
        return read_environment(file)
    except OSError as error:
        place = "" if file != ENVIRONMENT_FILE else " Run slipway-job on the cluster's head node or a login node."
        raise NoSuchRun(f"{file}: the environment's file cannot be read ({error.strerror}).{place}") from None
    except ValidationError as error:
        raise NoSuchRun(f"{file}: this is not an environment's file of this version of the kit: {error}") from None


def find_run(name: str) -> Run:
    """Read the run of a name.

    Raises:
        NoSuchRun: there is none, or its file cannot be read.
    """
    directory = Path(environment_here().runs_directory)
    names = run_names(directory)
    if name not in names:
        near = get_close_matches(name, names, n=3)
        known = f"Did you mean {' or '.join(near)}?" if near else "slipway-job status lists all runs."
        raise NoSuchRun(f"there is no run {name} in {directory}. {known}")
    return _read(directory / name)


def all_runs() -> tuple[list[Run], list[str]]:
    """Return all runs that can be read, and what is wrong with the others.

    Raises:
        NoSuchRun: the environment's file cannot be read.
    """
    directory = Path(environment_here().runs_directory)
    runs, problems = [], []
    for name in run_names(directory):
        try:
            runs.append(_read(directory / name))
        except NoSuchRun as error:
            problems.append(str(error))
    return runs, problems


def run_names(directory: Path) -> Sequence[str]:
    """Return the names of the folders that hold a run. A hidden one is a run that is just being submitted."""
    return sorted(file.parent.name for file in directory.glob(f"*/{RUN_FILE}") if not file.parent.name.startswith("."))


def _read(directory: Path) -> Run:
    """Read a run, and see that what is read of it later can be: one damaged run must not hide the others."""
    file = directory / RUN_FILE
    try:
        run = read_run(file)
        if (run.name, run.directory) != (directory.name, str(directory)):
            raise NoSuchRun(f"{file}: this is the file of another run, {run.name} in {run.directory}")
        file = run.chain_file
        read_chain(file)
    except (OSError, ValidationError) as error:
        raise NoSuchRun(f"{file}: this is not a run of this version of the kit: {error}") from None
    return run
