"""`slipway-job submit` and `slipway-job cancel`."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError
from rich.console import Console

from slipway_jobs.arithmetic.estimate import estimate
from slipway_jobs.arithmetic.estimate_table import render as estimate_table
from slipway_jobs.chain.scheduler import OutcomeUnknownError, SchedulerError
from slipway_jobs.check.command import RecipeArgument, SetOption, environment_or_exit, fail
from slipway_jobs.check.resolve import resolve
from slipway_jobs.environment import Environment, environment_file
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.model import Name
from slipway_jobs.recipe.problems import RecipeProblems
from slipway_jobs.recipe.shipped import recipe_path
from slipway_jobs.run import Run, TrainingRun
from slipway_jobs.submit.scheduler_choice import scheduler_of
from slipway_jobs.submit.submission import Plan, Refused, cancel_run, plan, refuse_unfinished, submit_run


def submit(
    recipe: RecipeArgument,
    name: Annotated[str | None, typer.Option(help="The run's name; the recipe's name where it is left out.")] = None,
    overrides: SetOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all that would be submitted; write nothing.")
    ] = False,
) -> None:
    """Submit a recipe as a chain of jobs: prepare, compile, train, convert, publish.

    A run that was submitted before goes on where it stopped.
    """
    file, environment = recipe_path(recipe), environment_or_exit()
    try:
        run = resolve(load_recipe(file, overrides or ()), file, environment, environment_file(), name)
        planned = plan(run, environment)
    except (RecipeProblems, Refused) as problems:
        fail(str(problems))
    if dry_run:
        typer.echo(scheduler_of(environment).preview(planned.run, environment, planned.todo), nl=False)
        return
    _print_plan(run, environment)
    carry_out(planned)


def run_name(text: str) -> str:
    """Return the name of a run that the command line gives.

    Raises:
        typer.BadParameter: it is not one; the exit status is 2.
    """
    try:
        return TypeAdapter(Name).validate_python(text)
    except ValidationError:
        message = f"{text!r} is not a run's name. Write lower-case letters, digits, '.' and '-', 63 at most"
        raise typer.BadParameter(message, param_hint="--name") from None


def carry_out(planned: Plan) -> None:
    """Show the stages of a plan that need no work, submit the others, and say how to watch them.

    Raises:
        typer.Exit: nothing, or nobody knows what, was submitted.
    """
    run = planned.run
    for stage in run.stages:
        if stage not in planned.todo:
            typer.echo(f"{stage:8} done before")
        elif stage in planned.undone:
            typer.echo(f"{stage:8} again, for something it is made of has changed")
    try:
        if not planned.todo:
            refuse_unfinished(run.name, scheduler_of(planned.environment))
            typer.echo(f"The run {run.name} is finished: there is nothing to submit. It made {_result(run)}")
            return
        submission = submit_run(planned)
    except OutcomeUnknownError as problem:
        fail(f"{problem}\nWhether the run was submitted is not known: slipway-job status {run.name}")
    except (Refused, SchedulerError) as problem:
        fail(f"{problem}\nNothing was submitted.")
    except OSError as error:
        fail(f"the run's folder cannot be written: {error}\nNothing was submitted.")
    for stage, job in submission.jobs.items():
        typer.echo(f"{stage:8} job {job}")
    typer.echo(f"Watch it:  slipway-job status {run.name}\n           slipway-job logs {run.name} --follow")
    typer.echo(f"Files:     {run.directory}\nEnd it:    slipway-job cancel {run.name}")


def cancel(run: Annotated[str, typer.Argument(help="The run's name.")]) -> None:
    """Cancel the jobs of a run that wait or run. Checkpoints stay: submitted again, the run goes on."""
    try:
        TypeAdapter(Name).validate_python(run)
    except ValidationError:
        fail(f"{run!r} is not a run's name")
    try:
        jobs = cancel_run(run, environment_or_exit())
    except (Refused, SchedulerError) as problem:
        fail(str(problem))
    for job in jobs:
        typer.echo(f"cancelled {job.name}, job {job.job}")
    if not jobs:
        typer.echo(f"no job of the run {run} waits or runs")


def _print_plan(run: TrainingRun, environment: Environment) -> None:
    """Show what the run takes."""
    console, recipe = Console(), run.recipe
    console.print(f"Run [bold]{run.name}[/bold]: {recipe.steps} steps on {recipe.hardware.nodes} nodes of {run.queue}")
    console.print(estimate_table(estimate(run, environment)))


def _result(run: Run) -> str:
    publish = run.publish
    if publish is None:
        return str(run.model_directory)
    return f"s3://{run.model_bucket}, {publish.model} {publish.version or run.name}"
