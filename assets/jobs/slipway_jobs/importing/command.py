"""`slipway-job import`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from slipway_jobs.arithmetic.publication import larger_host, tight_host, without_service
from slipway_jobs.check.command import environment_or_exit, fail
from slipway_jobs.environment import Environment, Service, environment_file
from slipway_jobs.importing.hub import HubError
from slipway_jobs.importing.resolve import ImportRefused, Source, export_for, find_source, resolve_import
from slipway_jobs.publishing.compatibility import EXPORT_PRECISION
from slipway_jobs.publishing.export import HOURS
from slipway_jobs.publishing.refusal import PublishRefused
from slipway_jobs.recipe.model import Export, Name, Publish
from slipway_jobs.run import ImportRun
from slipway_jobs.submit.command import carry_out, run_name
from slipway_jobs.submit.scheduler_choice import scheduler_of
from slipway_jobs.submit.submission import Refused, plan
from slipway_jobs.watching.price import price_of

_GIB = 2**30


def import_model(
    source: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A repository of the Hugging Face Hub (OWNER/NAME), or a folder."),
    ],
    *,
    version: Annotated[
        str, typer.Option("--as", metavar="MODEL/VERSION", help="What it becomes: a model of the endpoint, a version.")
    ],
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit; left out, the repository's default branch.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Requests that are answered at once.")] = None,
    sequence_length: Annotated[
        int | None, typer.Option(min=1, help="Longest prompt and answer together, in tokens.")
    ] = None,
    tensor_parallel_size: Annotated[
        int | None, typer.Option(min=1, help="NeuronCores of the endpoint's host that share the model.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The run's name; MODEL-VERSION where it is left out.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all that would be submitted; write nothing.")
    ] = False,
) -> None:
    """Import a model that others trained: fetch it, check it, compile it for the endpoint, publish it.

    The model is checked before anything is fetched. If you leave out --batch-size, --sequence-length or
    --tensor-parallel-size, the value comes from `compiled` of the model in the environment file. To continue an import
    that stopped, submit it again.
    """
    # Jobs do not see this shell's variables: what they cannot fetch is refused here.
    os.environ.pop("HF_TOKEN", None)
    environment = environment_or_exit()
    model, number = _version(version)
    options = {
        "batch_size": batch_size,
        "sequence_length": sequence_length,
        "tensor_parallel_size": tensor_parallel_size,
    }
    service = environment.service_of(model)
    if service is None:
        fix = "add the model to `inference.models` of the environment file and deploy first"
        raise typer.BadParameter(f"{without_service(model, environment)}: {fix}", param_hint="--as")
    try:
        export = export_for(service, options)
        found = find_source(source, revision, environment)
        publish = Publish(model=model, version=number, export=export)
        name = run_name(name or f"{model}-{number}")
        run = resolve_import(found, publish, service, environment, environment_file=environment_file(), name=name)
        planned = plan(run, environment)
    except (ImportRefused, HubError, PublishRefused, Refused, OSError) as problem:
        fail(f"{source} is not imported:\n{problem}")
    if dry_run:
        typer.echo(scheduler_of(environment).preview(planned.run, environment, planned.todo), nl=False)
        return
    Console().print(_facts(run, found, service, export, environment))
    weights = found.model.resident_bytes(EXPORT_PRECISION) if found.model else 0
    if notice := tight_host(weights, service, environment):
        fix = larger_host(weights, service, environment)
        Console().print(Text(f"Note: {notice}. {fix}", style="bold yellow"))
    _require_space(found, run)
    carry_out(planned)


def _version(text: str) -> tuple[str, str]:
    """Return the model's name and the version that `--as` names.

    Raises:
        typer.BadParameter: it is not both; the exit status is 2.
    """
    parts = text.split("/")
    try:
        model, version = TypeAdapter(tuple[Name, Name]).validate_python(tuple(parts))
    except ValidationError:
        message = f"{text!r} is not MODEL/VERSION. Write lower-case letters, digits, '.' and '-', for example tanuki/v1"
        raise typer.BadParameter(message, param_hint="--as") from None
    return model, version


def _facts(run: ImportRun, found: Source, service: Service, export: Export, environment: Environment) -> Table:
    """Show what is imported, and what it takes."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    rows = [("model", run.model.origin)]
    if found.repository:
        rows.append(("licence", f"{run.model.license or 'not named'}; read it: {found.repository.url}"))
    if found.model:
        weights = found.model.resident_bytes(EXPORT_PRECISION) / _GIB
        rows.append(("weights", f"{found.model.configuration.model_type}, {weights:.2f} GiB in bfloat16"))
    else:
        rows.append(("weights", "not known: the model is gated, and its jobs have the token. They check it first"))
    if found.fetched_bytes is not None:
        rows.append(("fetched", f"{found.fetched_bytes / _GIB:.2f} GiB, to {run.model.directory}"))
    shape = f"batch {export.batch_size}, {export.sequence_length} tokens, {export.tensor_parallel_size} cores"
    rows.append(("for", f"{service.engine} on {service.instance_type}: {shape}"))
    price = price_of(run, environment).cpu
    cost = "price not known" if price is None else f"${price:.2f} an hour, list price"
    rows.append(("runs on", f"one node of {run.cpu_queue} ({cost}); the compilation takes at most {HOURS:.0f} h"))
    rows.append(("becomes", f"{run.publication.model}/{run.publication.version}"))
    for heading, text in rows:
        table.add_row(heading, Text(text))
    return table


def _require_space(found: Source, run: ImportRun) -> None:
    """End unless the model and what is compiled from it fit onto the file system."""
    if found.repository and (run.model_directory / "done").exists():
        return
    size = found.fetched_bytes if found.fetched_bytes is not None else found.model and found.model.weight_bytes
    if not size:
        return
    needed = size * (2 if found.repository else 1)
    place = next(folder for folder in Path(run.directory).parents if folder.is_dir())
    free = shutil.disk_usage(place).free
    if needed > free:
        fail(f"{place} has {free / _GIB:.1f} GiB free, and the import needs {needed / _GIB:.1f} GiB: remove something")
