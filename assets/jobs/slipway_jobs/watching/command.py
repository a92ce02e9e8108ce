"""`slipway-job status`, `slipway-job logs` and `slipway-job tensorboard`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import sleep, time
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from slipway_jobs.check.command import fail
from slipway_jobs.environment import Environment
from slipway_jobs.run import Stage, TrainingRun
from slipway_jobs.watching.log_following import follow, show_end
from slipway_jobs.watching.port_forwarding import (
    find_instance_command,
    instance_id,
    port_forwarding_command,
    service_forwarding_command,
)
from slipway_jobs.watching.report import RunReport
from slipway_jobs.watching.report_table import run_details, runs_table
from slipway_jobs.watching.run_folders import NoSuchRun, all_runs, environment_here, find_run, scheduler_here
from slipway_jobs.watching.run_report import run_reports

FAILED_STATUS = 3
"""Exit status where a run failed or was cancelled: it does not go on by itself."""

INTERRUPTED_STATUS = 130
"""Exit status after Ctrl-C, as of other programs that watch something."""

REFRESH_SECONDS = 5.0
"""How often `--watch` looks again."""

PIPE_COLUMNS = 160
"""Width of what is written into a file or pipe."""

TENSORBOARD_PORT = 6006
"""Port of the service `tensorboard` in a Kubernetes cluster, and TensorBoard's own default."""

RunName = Annotated[str, typer.Argument(metavar="RUN", help="The run's name.")]


def status(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="The run's name; all runs without one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts; what is not known is null.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Look again every few seconds until nothing runs.")] = False,
) -> None:
    """Show how far runs are: stage, step, loss, speed, time left, cost, latest checkpoint.

    The cost is the list price of the nodes while jobs run on them.

    Exit status: 0; 1 where there is no such run; 2 for a wrong option; 3 where the run failed or was cancelled.
    """
    if as_json and watch:
        raise typer.BadParameter("choose one of --json and --watch")
    try:
        if as_json:
            reports, notes = _look(run)
            _print_json(reports[0] if run else reports, notes)
        elif watch:
            reports = _watch(run)
        else:
            reports, notes = _look(run)
            _console().print(_shown(run, reports, notes))
    except (NoSuchRun, OSError, ValidationError) as error:
        fail(str(error))
    if run and reports[0].state in ("failed", "cancelled"):
        raise typer.Exit(FAILED_STATUS)


def logs(
    run: RunName,
    stage: Annotated[
        Stage | None,
        typer.Argument(metavar="STAGE", help="The job; left out, the one that the run is in."),
    ] = None,
    follow_it: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is written, over requeues, until the job has ended.")
    ] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How much of the end to show first.")] = 50,
) -> None:
    """Show the end of a job's log. Without a stage, --follow goes on to the jobs after it.

    Exit status: 0; 1 where there is no such run or no log yet; 3 where a job that was followed failed.
    """
    try:
        found = find_run(run)
        state = (follow if follow_it else show_end)(found, scheduler_here(), stage, lines, sys.stdout.buffer)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED_STATUS) from None
    except BrokenPipeError:
        # Whoever reads, such as `head`, has seen enough. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    except (NoSuchRun, OSError, ValidationError) as error:
        fail(str(error))
    if state in ("failed", "cancelled"):
        raise typer.Exit(FAILED_STATUS)


def tensorboard(
    run: RunName,
    port: Annotated[int, typer.Option(min=1024, max=65535, help="TCP port on your computer.")] = TENSORBOARD_PORT,
) -> None:
    """Tell how to look at a run's TensorBoard from your own computer, with no port open to anyone.

    Nothing is started: it prints the command for your computer, and with Slurm the one for this machine.
    """
    try:
        found = find_run(run)
    except NoSuchRun as error:
        fail(str(error))
    if not isinstance(found, TrainingRun):
        fail(f"{found.name} is {found.kind}: it has no TensorBoard")
    if not found.tensorboard_directory.exists():
        typer.echo(f"The training has not written anything yet to {found.tensorboard_directory}.\n", err=True)
    environment = environment_here()
    if environment.kubernetes:
        typer.echo(_cluster_tensorboard(found, environment.kubernetes.namespace, port))
    else:
        typer.echo(_tensorboard_instructions(found, environment, port))


def _look(name: str | None) -> tuple[list[RunReport], list[str]]:
    """Return the reports of one run or of all, the latest submission first, and what could not be read."""
    runs, problems = ([find_run(name)], []) if name else all_runs()
    reports = run_reports(runs, scheduler_here())
    reports.sort(key=lambda report: report.submitted_at or 0.0, reverse=True)
    return reports, problems


def _watch(name: str | None) -> list[RunReport]:
    """Show reports until nothing runs or waits any more."""
    with Live(console=_console(), auto_refresh=False, vertical_overflow="visible") as live:
        try:
            while True:
                reports, problems = _look(name)
                live.update(_shown(name, reports, problems), refresh=True)
                if not any(report.state in ("running", "pending", "waiting", "unknown") for report in reports):
                    return reports
                sleep(REFRESH_SECONDS)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED_STATUS) from None


def _shown(name: str | None, reports: list[RunReport], problems: list[str]) -> RenderableType:
    now = time()
    if name:
        return run_details(reports[0], now)
    # What goes for all of them, such as a scheduler that does not answer, is said once.
    notices = [*problems, *dict.fromkeys(notice for report in reports for notice in report.general_notices)]
    table = (
        runs_table(reports, now) if reports else Text("There are no runs yet: slipway-job submit RECIPE starts one.")
    )
    return Group(table, *(Text(f"Note: {notice}", style="bold yellow") for notice in notices))


def _print_json(reports: RunReport | list[RunReport], problems: list[str]) -> None:
    if isinstance(reports, list):
        content = [json.loads(report.model_dump_json()) for report in reports]
        typer.echo(json.dumps(content, indent=1))
    else:
        typer.echo(reports.model_dump_json(indent=1))
    for problem in problems:
        typer.echo(problem, err=True)


def _console() -> Console:
    console = Console(markup=False, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_COLUMNS
    return console


def _cluster_tensorboard(run: TrainingRun, namespace: str, port: int) -> str:
    return f"""The cluster has a TensorBoard of all runs. On your own computer, with the AWS CLI and kubectl:

  {service_forwarding_command(namespace, "tensorboard", port, TENSORBOARD_PORT)}

Then open http://127.0.0.1:{port} on your computer, and filter the runs by {run.name}. Ctrl-C ends it."""


def _tensorboard_instructions(run: TrainingRun, environment: Environment, port: int) -> str:
    # Program, Region and cluster are the environment's: the run may be somebody else's, and so may what its file says.
    program = Path(environment.training_stacks_directory, "current", "bin", "tensorboard")
    instance = instance_id()
    here = port_forwarding_command(instance or "INSTANCE_ID", environment.region, port)
    search = find_instance_command(environment.cluster_name, environment.region)
    find = "" if instance else f"\n\nINSTANCE_ID is the head node's:\n\n  {search}"
    return f"""On this machine:

  {program} --logdir {run.tensorboard_directory} --host 127.0.0.1 --port {port}

On your own computer, with the AWS CLI and its Session Manager plugin:

  {here}{find}

Then open http://127.0.0.1:{port} on your computer. Ctrl-C ends either of them. Where somebody else on this machine has
the port already, choose another one with --port."""
