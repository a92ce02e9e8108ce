"""`slipway-job run`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from slipway_jobs.check.command import environment_or_exit, fail
from slipway_jobs.environment import environment_file
from slipway_jobs.recipe.model import Restarts
from slipway_jobs.run import ScriptRun
from slipway_jobs.running.resolve import ScriptRefused, UnknownQueue, Wish, resolve_script
from slipway_jobs.submit.command import carry_out, run_name
from slipway_jobs.submit.scheduler_choice import scheduler_of
from slipway_jobs.submit.submission import Refused, plan


def run(
    script: Annotated[Path, typer.Argument(help="A Python script on a disk that the nodes share.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Its arguments, after `--`.")] = None,
    *,
    queue: Annotated[str, typer.Option(help="Partition, or node group on Kubernetes.")],
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of the job.")] = 1,
    instance_type: Annotated[str | None, typer.Option(help="Needed where the queue has several.")] = None,
    workers_per_node: Annotated[
        int | None, typer.Option(min=1, help="Processes on a node; left out, one for each NeuronCore.")
    ] = None,
    compile_with: Annotated[
        str | None,
        typer.Option("--compile", help="Compile the graphs first, in a job of its own that adds these arguments."),
    ] = None,
    stack: Annotated[str | None, typer.Option(help="Training stack; left out, the queue's.")] = None,
    python: Annotated[Path | None, typer.Option(help="Python interpreter; left out, the training stack's.")] = None,
    env: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Environment variable.")] = None,
    name: Annotated[str | None, typer.Option(help="The run's name; the script's where it is left out.")] = None,
    restarts: Annotated[int, typer.Option(min=0, max=100, help="Failures after which it still starts again.")] = 0,
    time_limit_hours: Annotated[
        int, typer.Option(min=1, max=720, help="Time limit of one start; a signal comes before it.")
    ] = 24,
    save_seconds: Annotated[
        int, typer.Option(min=0, max=3600, help="How long it may take to save after the signal.")
    ] = 300,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all that would be submitted; write nothing.")
    ] = False,
) -> None:
    """Run a script of your own: torchrun starts it on each node, with EFA, compile cache, logs and restarts.

    It starts in the folder that you are in. Save below $SLIPWAY_CHECKPOINTS and begin with what is there: a job that
    is queued again starts the same command. SIGUSR1 comes before the time limit: save and end with status 0.
    """
    environment = environment_or_exit()
    wish = Wish(
        script=script,
        arguments=arguments or (),
        compile_arguments=None if compile_with is None else shlex.split(compile_with),
        queue=queue,
        instance_type=instance_type,
        nodes=nodes,
        workers_per_node=workers_per_node,
        stack=stack,
        python=python,
        environment_variables=dict(_pair(text) for text in env or ()),
        limits=Restarts(limit=restarts, time_limit_hours=time_limit_hours),
        save_seconds=save_seconds,
        working_directory=Path.cwd(),
    )
    try:
        resolved = resolve_script(wish, environment, environment_file(), run_name(name or _from(script)))
        planned = plan(resolved, environment)
    except UnknownQueue as problem:
        raise typer.BadParameter(str(problem), param_hint="--queue") from None
    except (ScriptRefused, Refused) as problem:
        fail(f"{script} is not submitted:\n{problem}")
    if dry_run:
        typer.echo(scheduler_of(environment).preview(planned.run, environment, planned.todo), nl=False)
        return
    Console().print(_facts(resolved))
    carry_out(planned)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--env")
    return name, value


def _from(script: Path) -> str:
    return script.stem.lower().replace("_", "-")


def _facts(run: ScriptRun) -> Table:
    """Show what runs where, and what it costs."""
    hardware, table = run.hardware, Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    price, hours = run.usd_per_node_hour, run.restarts.time_limit_hours
    cost = "price not known"
    if price is not None:
        hourly = price * hardware.nodes
        cost = f"{hourly:,.2f} USD an hour at list price, {hourly * hours:,.0f} USD until the time limit of {hours} h"
    for heading, text in (
        ("script", shlex.join([run.program, *run.arguments])),
        ("on", f"{hardware.nodes} x {hardware.instance_type} of {run.queue}, {hardware.workers_per_node} workers each"),
        ("with", f"{run.python} ({run.training_stack})"),
        ("cost", cost),
        ("checkpoints", run.checkpoint_directory),
    ):
        table.add_row(heading, Text(text))
    return table
