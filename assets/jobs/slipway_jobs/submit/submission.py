"""Submits a run's chain of jobs, whole or not at all; a run that was submitted before goes on where it stopped."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from slipway_jobs.chain.record import Chain, Submission, read_chain, write_whole
from slipway_jobs.chain.scheduler import Job, OutcomeUnknownError, Scheduler
from slipway_jobs.chain.scripts import render
from slipway_jobs.environment import Environment
from slipway_jobs.ownership import NotOwn, require_own, require_own_run
from slipway_jobs.run import RUN_FILE, STAGES, Run, Stage, TrainingRun, read_run
from slipway_jobs.submit.changes import refused_changes, undone_stages
from slipway_jobs.submit.scheduler_choice import scheduler_of

ENVIRONMENT_COPY = "environment.json"
"""Name of the environment's file in a run's folder: no later update of the environment changes a running chain."""


class Refused(Exception):  # noqa: N818 (a user's mistake, not an error of the program)
    """A run cannot be submitted or cancelled; the message says why and what to do."""


@dataclass(frozen=True)
class Plan:
    """What a submission will do."""

    run: Run
    """The run as it will be written."""

    environment: Environment
    """The environment it runs in."""

    known: bool
    """Whether the run was submitted before."""

    todo: tuple[Stage, ...]
    """Stages to submit, in their order."""

    undone: tuple[Stage, ...]
    """Stages that are finished, but must be done again because something changed."""

    @property
    def done(self) -> tuple[Stage, ...]:
        """Stages that stay as they are."""
        return tuple(stage for stage in self.run.stages if stage not in self.todo)


def plan(run: Run, environment: Environment) -> Plan:
    """Decide what a submission of a run does; nothing is written.

    Raises:
        Refused: a run of this name is another one, or somebody else can write what its jobs would run or load.
        OSError: its folder cannot be looked at.
    """
    run = run.model_copy(update={"environment_file": str(Path(run.directory) / ENVIRONMENT_COPY)})
    try:
        require_own_run(run)
    except NotOwn as problem:
        raise Refused(f"the run {run.name} is not submitted: {problem}.") from None
    if not Path(run.directory).exists():
        return Plan(run, environment, known=False, todo=run.stages, undone=())
    old = _known_run(run)
    _refuse_other_scheduler(old, run.scheduler)
    if refused := refused_changes(old, run):
        changes = "\n".join(f"  {line}" for line in refused)
        message = f"the run {run.name} in {run.directory} was submitted otherwise:\n{changes}\n"
        raise Refused(f"{message}Give this one another name (--name), or take these changes back.")
    if isinstance(run, TrainingRun) and isinstance(old, TrainingRun) and _is_own_data(old):
        # The same recipe over files that were touched: the run stays with the data it began with.
        kept: dict[str, str | None] = {"prepared_directory": old.prepared_directory}
        if old.recipe.data.validation == run.recipe.data.validation:
            kept["validation_directory"] = old.validation_directory
        run = run.model_copy(update=kept)
    undone = undone_stages(old, run)
    todo = _todo(run, undone)
    return Plan(run, environment, known=True, todo=todo, undone=tuple(s for s in todo if finished(run, s)))


def _is_own_data(old: TrainingRun) -> bool:
    """Tell whether a run's prepared data are complete, and nobody else can have written them."""
    folder = Path(old.prepared_directory)
    try:
        require_own(folder, folder.parents[1])
    except NotOwn:
        return False
    return (folder / "done").exists()


def finished(run: Run, stage: Stage) -> bool:
    """Tell whether a stage is finished and what it made is still there."""
    product = run.product(stage)
    return run.done_file(stage).exists() and (product is None or (product / "done").exists())


def submit_run(plan: Plan) -> Submission:
    """Write the run's folder and submit what there is to do.

    Either all jobs wait in the queue afterwards, or none does. None starts before chain.json is written: if this
    process is killed, nothing runs that nobody knows of, and the next submission names what is left.

    Raises:
        Refused: jobs of the run have not ended, or somebody is submitting it at this moment.
        OutcomeUnknownError: the scheduler went away while it was asked; what was written stays.
        SchedulerError: the scheduler refuses a job or does not answer.
        OSError: the run's folder cannot be written to.
    """
    run, scheduler = plan.run, scheduler_of(plan.environment)
    with _locked(run):
        if Path(run.directory).exists() != plan.known:
            raise Refused(f"the run {run.name} was submitted by somebody else at this moment; look at it with status")
        refuse_unfinished(run.name, scheduler)
        scheduler.clear(run.name)
        before = read_chain(run.chain_file)
        _write_run(plan)
        try:
            scheduler.submit(run, plan.environment, plan.todo, lambda jobs: _record(plan, before, jobs))
        except OutcomeUnknownError:
            raise
        except BaseException:
            _take_back(plan, before)
            raise
        return read_chain(run.chain_file).submissions[-1]


def _record(plan: Plan, before: Chain, jobs: Mapping[Stage, str]) -> None:
    """Write down a submission's jobs."""
    submission = Submission(submitted_at=time.time(), user=getpass.getuser(), jobs=dict(jobs), done_before=plan.done)
    _write_chain(plan.run, Chain(submissions=(*before.submissions, submission)))


def cancel_run(name: str, environment: Environment) -> list[Job]:
    """Cancel the jobs of a run that have not ended, and return them.

    Raises:
        Refused: there is no such run, or it is another scheduler's.
        SchedulerError: the scheduler does not answer, or the jobs are somebody else's.
    """
    file, scheduler = Path(environment.runs_directory, name, RUN_FILE), scheduler_of(environment)
    if not file.exists():
        raise Refused(f"there is no run {name}: no {file}")
    with contextlib.suppress(ValidationError):
        # A file of another version of the kit is no reason to let its jobs run.
        _refuse_other_scheduler(read_run(file), scheduler.key)
    return scheduler.cancel(name)


def refuse_unfinished(name: str, scheduler: Scheduler) -> None:
    """Raise `Refused` while jobs of a run wait or run.

    Raises:
        Refused: there are such jobs; the message names them.
        SchedulerError: the scheduler does not answer.
    """
    if jobs := scheduler.unfinished_jobs(name):
        listed = "\n".join(
            f"  {job.name}: job {job.job}{f' of {job.user}' if job.user else ''}, {job.state.lower()}" for job in jobs
        )
        message = f"jobs of the run {name} have not ended:\n{listed}\n"
        raise Refused(f"{message}Wait for them, or end them with: slipway-job cancel {name}")


def _refuse_other_scheduler(old: Run, scheduler: str) -> None:
    """Raise `Refused` for a run that another scheduler of the environment has: neither sees the other's jobs."""
    if old.scheduler != scheduler:
        names = {"slurm": "Slurm: use the head node or a login node", "kubernetes": "Kubernetes: use its shell"}
        message = f"the run {old.name} was submitted to {names[old.scheduler]} for it"
        raise Refused(f"{message}, or give this one another name (--name).")


def _known_run(run: Run) -> Run:
    try:
        return read_run(run.file)
    except (OSError, ValidationError) as error:
        message = f"{run.directory} is there, but holds no run of this version of the kit ({run.file}): {error}"
        raise Refused(f"{message}\nGive the run another name (--name), or move the folder away.") from None


def _todo(run: Run, undone: set[Stage]) -> tuple[Stage, ...]:
    """Return the stages to do: what comes before a finished training is not done again for its own sake."""
    chain = run.stages
    if finished(run, "train") and "train" not in undone:
        chain = tuple(stage for stage in chain if STAGES.index(stage) > STAGES.index("train"))
    open_stages = [stage for stage in chain if stage in undone or not finished(run, stage)]
    if not open_stages:
        return ()
    first = chain.index(open_stages[0])
    # What prepare makes is the same again; everything after compile builds on what is to do before it.
    return tuple(stage for stage in chain[first:] if stage in open_stages or stage not in ("prepare", "compile"))


def _write_run(plan: Plan) -> None:
    """Write run.json, the environment and the scripts; a new run's folder appears in one move."""
    run, directory = plan.run, Path(plan.run.directory)
    files = {run.file: run.model_dump_json(indent=1) + "\n"}
    files[directory / ENVIRONMENT_COPY] = plan.environment.model_dump_json(indent=1) + "\n"
    files |= render(run, plan.environment)
    if plan.known:
        for stage in plan.undone:
            run.done_file(stage).unlink(missing_ok=True)
        _write_files(files)
        return
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{run.name}.", dir=directory.parent, ignore_cleanup_errors=True) as work:
        # A folder below it: mkdtemp's own is closed to everybody else.
        new = Path(work) / "run"
        for folder in ("scripts", "logs", "stages"):
            (new / folder).mkdir(parents=True)
        _write_files({new / file.relative_to(directory): text for file, text in files.items()})
        new.rename(directory)


def _write_files(files: dict[Path, str]) -> None:
    for file, text in files.items():
        write_whole(file, text, mode=0o755 if file.parent.name == "scripts" else 0o644)


def _write_chain(run: Run, chain: Chain) -> None:
    write_whole(run.chain_file, chain.model_dump_json(indent=1) + "\n")


def _take_back(plan: Plan, before: Chain) -> None:
    """Undo a submission that failed: remove what it wrote of a new run."""
    if not plan.known:
        shutil.rmtree(plan.run.directory, ignore_errors=True)
    elif before.submissions:
        _write_chain(plan.run, before)
    else:
        plan.run.chain_file.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(run: Run) -> Iterator[None]:
    """Keep others from submitting the same run; the lock ends with the process, and /fsx is mounted with `flock`."""
    directory = Path(run.directory).parent
    directory.mkdir(parents=True, exist_ok=True)
    # Everybody's lock: for that, reading must be enough.
    descriptor = os.open(directory / f".{run.name}.lock", os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"somebody is submitting the run {run.name} at this moment: try again") from None
        yield
    finally:
        os.close(descriptor)
