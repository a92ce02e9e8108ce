"""Turns a model of others into a run: decides where it goes and how it is compiled, once it is checked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from slipway_jobs.arithmetic.placement import cpu_queue
from slipway_jobs.check.resolve import shared_fields
from slipway_jobs.environment import Environment, Service
from slipway_jobs.importing.hub import NAME, GatedError, Repository, hub_here, look_up
from slipway_jobs.importing.model_files import describe
from slipway_jobs.publishing.compatibility import check_compatibility
from slipway_jobs.publishing.model_folder import Model, read_model_folder
from slipway_jobs.recipe.model import Export, Publish
from slipway_jobs.run import FetchedModel, ImportRun

SHAPE = ("batch_size", "sequence_length", "tensor_parallel_size")
"""What a model is compiled for."""


class ImportRefused(Exception):  # noqa: N818 (a user's mistake, not an error of the program)
    """The model cannot be imported here; the message says why and what to do."""


@dataclass(frozen=True)
class Source:
    """A model to import.

    Attributes:
        fetched: where it comes from, and where it will be.
        model: the model, or None if it is gated and this shell has no token.
        repository: its repository, or None for a folder.
        fetched_bytes: bytes of all files that will be fetched, or None if unknown.
    """

    fetched: FetchedModel
    model: Model | None
    repository: Repository | None
    fetched_bytes: int | None


def find_source(name: str, revision: str | None, environment: Environment) -> Source:
    """Look for a model in a folder, or on the Hugging Face Hub.

    Args:
        name: a folder, or a repository of the Hub.
        revision: branch, tag or commit of the repository, or None for its default branch.
        environment: the cluster.

    Raises:
        ImportRefused: `name` is neither a folder nor a repository, or does not fit the options or the scheduler.
        HubError: the Hub does not have it, or does not answer.
        PublishRefused: it is no model that can be published.
        OSError: a file cannot be read.
    """
    folder = Path(name)
    if folder.is_dir():
        if revision is not None:
            raise ImportRefused(f"--revision is for a repository of the Hub, and {name} is a folder: leave it out")
        folder = folder.resolve()
        shared = Path(environment.runs_directory).parent
        if environment.kubernetes and not folder.is_relative_to(shared):
            raise ImportRefused(f"{folder} is not below {shared}, which is all that pods share: copy it there")
        if not (folder / "tokenizer_config.json").is_file():
            raise ImportRefused(f"{folder} has no tokenizer_config.json, and the engine needs the tokenizer")
        return Source(FetchedModel(directory=str(folder)), read_model_folder(folder).model, None, None)
    if not NAME.fullmatch(name):
        raise ImportRefused(f"{name} is neither a folder here nor the name of a repository of the Hub (OWNER/NAME)")
    repository = look_up(hub_here(), name, revision)
    directory = Path(environment.prepared_directory, str(os.getuid()), _folder_name(repository))
    fetched = FetchedModel(
        directory=str(directory),
        repository=name,
        commit=repository.commit,
        hub=repository.hub,
        license=repository.license,
    )
    try:
        model, files = describe(repository)
    except GatedError:
        # Pods of Kubernetes get the token of the environment's secret, this shell does not.
        if not (environment.kubernetes and environment.kubernetes.hugging_face_token_secret):
            raise
        return Source(fetched, None, repository, None)
    return Source(fetched, model, repository, sum(repository.files[file].size for file in files))


def export_for(service: Service, options: dict[str, int | None]) -> Export:
    """Return what a model is compiled for.

    Args:
        service: the endpoint's service that will serve it.
        options: values of `SHAPE` from the command line; None takes the value from the environment file.

    Raises:
        ImportRefused: a value is missing, or differs between the command line and the environment file.
    """
    said = service.compiled
    problems, shape = [], {}
    for name in SHAPE:
        given, fixed = options[name], getattr(said, name) if said else None
        option = f"--{name.replace('_', '-')}"
        if given is None and fixed is None:
            problems.append(f"{option} is missing, and `compiled` of the model in the environment file does not say it")
        elif given is not None and fixed is not None and given != fixed:
            problems.append(f"{option} {given}: the endpoint's service is for models that are compiled with {fixed}")
        shape[name] = given or fixed or 1
    if problems:
        raise ImportRefused("\n".join(problems))
    return Export(**shape)


def resolve_import(
    source: Source, publish: Publish, service: Service, environment: Environment, *, environment_file: Path, name: str
) -> ImportRun:
    """Decide everything about an import.

    Args:
        source: the model.
        publish: what it becomes; `version` and `export` are filled in.
        service: the service that it is for.
        environment: the cluster.
        environment_file: the file that it was read from.
        name: the run's name.

    Raises:
        PublishRefused: the endpoint cannot serve it.
    """
    if source.model and publish.export:
        check_compatibility(publish.export, source.model, service, environment)
    queue = cpu_queue(environment) or environment.queues[0]
    return ImportRun(
        **shared_fields(name, environment, environment_file),
        cpu_queue=queue.name,
        model=source.fetched,
        publication=publish,
    )


def _folder_name(repository: Repository) -> str:
    return f"{repository.name.replace('/', '--')}-{repository.commit[:16]}"
