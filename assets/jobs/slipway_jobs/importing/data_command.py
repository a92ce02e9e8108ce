"""`slipway-job fetch`."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from slipway_jobs.arithmetic.placement import cpu_queue
from slipway_jobs.check.command import environment_or_exit, fail
from slipway_jobs.check.resolve import shared_fields
from slipway_jobs.environment import Environment, environment_file
from slipway_jobs.importing.data_folder import missing_bytes, state_of
from slipway_jobs.importing.data_set import HUB, READ, S3, DataRefused, DataSet, endings, open_data_set
from slipway_jobs.importing.hub import GatedError, HubError, Repository, hub_here, require_access
from slipway_jobs.importing.presets import Preset, presets
from slipway_jobs.importing.s3_objects import S3Refused
from slipway_jobs.recipe.source_files import INDEX, SUFFIXES, TOKENS
from slipway_jobs.run import DataRun, FetchedData
from slipway_jobs.submit.command import carry_out, run_name
from slipway_jobs.submit.scheduler_choice import scheduler_of
from slipway_jobs.submit.submission import Refused, plan
from slipway_jobs.watching.price import price_of

_GIB = 2**30
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True)
class _Wish:
    """What the command line says.

    Attributes:
        source: `hf:OWNER/NAME` or `s3://BUCKET/PREFIX`.
        revision: branch, tag or commit, or None.
        include: patterns of the files.
        preset: the row that it came from, or None.
    """

    source: str
    revision: str | None
    include: tuple[str, ...]
    preset: Preset | None


def fetch(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help=f"hf:OWNER/NAME of the Hugging Face Hub, s3://BUCKET/PREFIX, or one of {', '.join(presets())}.",
        ),
    ],
    *,
    to: Annotated[str, typer.Option(metavar="FOLDER", help="A folder of its own below /fsx/data.")],
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit; left out, the data set's default branch.")
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help=f"Files to fetch, `*` matches / too; left out, {', '.join(READ)}."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The run's name; left out, fetch- and the folder's.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: for scripts.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all that would be submitted; write nothing.")
    ] = False,
) -> None:
    """Fetch text to train on: licence, size and room are shown first, then a job on a CPU node fetches it.

    The job compares each file with the checksum that the other side names. To continue a fetch that stopped, submit it
    again. FSx copies the files to the data bucket.
    """
    # Jobs do not see this shell's variables: what they cannot fetch is refused here.
    os.environ.pop("HF_TOKEN", None)
    environment, wish = environment_or_exit(), _wish(source, revision, include)
    directory = _directory(to, environment)
    try:
        found = open_data_set(wish.source, wish.revision, wish.include, hub=hub_here(), region=environment.region)
        _require_access(found, environment)
        run = _run(found, wish, directory, environment, run_name(name or _named(directory, environment)))
        if state_of(run.data) == "complete":
            typer.echo(f"{directory} is complete: {run.data.origin}. There is nothing to fetch.")
            return
        planned = plan(run, environment)
        _require_writable(directory)
    except (DataRefused, HubError, S3Refused, Refused, OSError) as problem:
        fail(f"{source} is not fetched:\n{problem}")
    if dry_run:
        typer.echo(scheduler_of(environment).preview(planned.run, environment, planned.todo), nl=False)
        return
    needed, free = missing_bytes(run.data, found.sizes), shutil.disk_usage(_there(directory)).free
    Console().print(_facts(run, found, wish, environment, free))
    if needed > free:
        fail(
            f"{environment.data_directory} has {_gib(free)} free, and the fetch needs {_gib(needed)}, with the files "
            "that it compares before they go to their place: remove something, or choose files with --include"
        )
    if not yes and not _agreed():
        raise typer.Exit(1)
    carry_out(planned)


def _wish(source: str, revision: str | None, include: list[str] | None) -> _Wish:
    """Read what is to be fetched.

    Raises:
        typer.BadParameter: it is no address and no data set's name, or a pattern is empty; the exit status is 2.
    """
    preset = presets().get(source)
    if preset is None and not source.startswith((HUB, S3)):
        known = ", ".join(presets())
        message = f"{source!r} is unknown. Write hf:OWNER/NAME, s3://BUCKET/PREFIX, or one of {known}"
        raise typer.BadParameter(message, param_hint="DATA")
    if include is not None and not all(pattern.strip() for pattern in include):
        raise typer.BadParameter("a pattern is empty", param_hint="--include")
    if revision is not None and not revision.strip():
        raise typer.BadParameter("it is empty", param_hint="--revision")
    if preset is None:
        return _Wish(source, revision, tuple(include or READ), None)
    return _Wish(preset.source, revision or preset.revision, tuple(include or preset.include), preset)


def _directory(to: str, environment: Environment) -> Path:
    """Return the folder that the data set goes to.

    Raises:
        typer.BadParameter: it is not below /fsx/data; the exit status is 2.
    """
    shared, directory = Path(environment.data_directory), Path(to)
    if not directory.is_relative_to(shared) or directory == shared or ".." in directory.parts:
        message = f"{to!r} is not a folder below {shared}. Write, for example, {shared}/wikipedia"
        raise typer.BadParameter(message, param_hint="--to")
    return directory


def _named(directory: Path, environment: Environment) -> str:
    """Return the run's name where nobody gives one."""
    folder = "-".join(directory.relative_to(environment.data_directory).parts)
    return f"fetch-{_NOT_IN_NAMES.sub('-', folder.lower()).strip('.-')}"


def _run(found: DataSet, wish: _Wish, directory: Path, environment: Environment, name: str) -> DataRun:
    work = hashlib.sha256(f"{found.source}@{found.revision} {directory}".encode()).hexdigest()[:16]
    data = FetchedData(
        source=found.source,
        revision=found.revision,
        hub=found.behind.hub if isinstance(found.behind, Repository) else None,
        license=_license(found, wish),
        include=wish.include,
        shared_directory=environment.data_directory,
        directory=str(directory),
        work_directory=str(Path(environment.prepared_directory, str(os.getuid()), f"fetch-{work}")),
    )
    return DataRun(
        **shared_fields(name, environment, environment_file()),
        cpu_queue=(cpu_queue(environment) or environment.queues[0]).name,
        data=data,
    )


def _license(found: DataSet, wish: _Wish) -> str | None:
    return found.license or (wish.preset.license if wish.preset else None)


def _require_access(found: DataSet, environment: Environment) -> None:
    """Refuse a gated data set that the user's token does not open.

    Raises:
        HubError: the user may not fetch it.
    """
    if not isinstance(found.behind, Repository):
        return
    try:
        require_access(found.behind)
    except GatedError:
        # Pods of Kubernetes get the token of the environment's secret, this shell does not.
        if not (environment.kubernetes and environment.kubernetes.hugging_face_token_secret):
            raise


def _require_writable(directory: Path) -> None:
    """Refuse a folder that this user cannot write to.

    Raises:
        DataRefused: it, or the one that it would be made in, is closed.
    """
    there = _there(directory)
    if not os.access(there, os.W_OK | os.X_OK):
        status = there.stat()
        raise DataRefused(
            f"you cannot write to {there} (mode {status.st_mode & 0o7777:04o} of user {status.st_uid}). Write a folder "
            "of your own. If it is the folder that all users share, it is older than this command: "
            "`slipway docs storage`"
        )


def _there(directory: Path) -> Path:
    """Return the folder, or the next one above it that is there."""
    return next(folder for folder in (directory, *directory.parents) if folder.is_dir())


def _facts(run: DataRun, found: DataSet, wish: _Wish, environment: Environment, free: int) -> Table:
    """Show what is fetched, under which licence, and what it takes."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    names, size = found.sizes, sum(found.sizes.values())
    rows = [("data", found.source + (f" ({wish.preset.about})" if wish.preset else "")), ("revision", found.revision)]
    license_ = _license(found, wish) or "not known: find out whether you may use it"
    rows.append(("licence", f"{license_}; read it: {found.page}" if found.page else license_))
    kinds = ", ".join(f"{number} {ending}" for ending, number in endings(names))
    rows.append(("files", f"{len(names)} ({kinds}), {_gib(size)}"))
    read = (*SUFFIXES, TOKENS, INDEX)
    if unread := sum(Path(name).suffix not in read for name in names):
        rows.append(("", f"{unread} of them the prepare stage does not read: it reads {', '.join(read)}"))
    rows.append(
        ("to", f"{run.data.directory}, which has {_gib(free)} free; FSx copies it to s3://{environment.data_bucket}")
    )
    if wish.source.startswith(f"{S3}{environment.data_bucket}/"):
        rows.append(("", f"{environment.data_directory} shows these objects already"))
    price = price_of(run, environment).cpu
    cost = "price not known" if price is None else f"${price:.2f} an hour, list price"
    rows.append(("runs on", f"one node of {run.cpu_queue} ({cost})"))
    for heading, text in rows:
        table.add_row(heading, Text(text))
    return table


def _agreed() -> bool:
    try:
        return typer.confirm("Fetch it?")
    except typer.Abort:
        fail("no answer: --yes asks nothing. Nothing was submitted.")


def _gib(size: int) -> str:
    return f"{size / _GIB:.2f} GiB"
