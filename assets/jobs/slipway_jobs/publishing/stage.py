"""The publish stage from its start to its done file. Each step can be done again after a kill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from slipway_jobs.arithmetic.publication import without_service
from slipway_jobs.environment import Environment
from slipway_jobs.exporters import Exporter
from slipway_jobs.ownership import NotOwn, user_folder
from slipway_jobs.publishing.bucket import VersionPrefix
from slipway_jobs.publishing.compatibility import EXPORT_PRECISION, check_compatibility, device_bytes
from slipway_jobs.publishing.export import ModelExport
from slipway_jobs.publishing.exporter_environment import exporter_environment
from slipway_jobs.publishing.files import model_files
from slipway_jobs.publishing.manifest import Compiled, Manifest, PublishedFile, Source, content_sha256
from slipway_jobs.publishing.model_folder import ModelFolder, read_model_folder
from slipway_jobs.publishing.refusal import PublishRefused
from slipway_jobs.recipe.model import Export, Publish
from slipway_jobs.run import ImportRun, Run, TrainingRun

EXPORTERS = "exporters"
"""Folder of the exporters' Python environments, in the user's own folder beside the runs."""


@dataclass(frozen=True)
class Publication:
    """One run's model on its way to the model bucket.

    Attributes:
        run: the run.
        publish: the recipe's `publish` section.
        environment: the environment.
        s3: boto3 client.
        tell: called with a line of progress.
    """

    run: Run
    publish: Publish
    environment: Environment
    s3: Any
    tell: Callable[[str], None]

    @property
    def version(self) -> str:
        """The version that is published."""
        return self.publish.version or self.run.name

    def carry_out(self) -> None:
        """Publish; a version that is already there with this content is left as it is.

        Raises:
            PublishRefused: it cannot be published, with all reasons.
            OSError: a file cannot be read or written.
            botocore.exceptions.ClientError, boto3.exceptions.Boto3Error: S3 refuses.
        """
        done = self.run.done_file("publish")
        if done.is_file():
            self.tell(f"{done} is there: nothing to do")
            return
        _require_complete(self.run)
        model = read_model_folder(self.run.model_directory)
        exporter = self._exporter(model)
        prefix = VersionPrefix(self.s3, self.run.model_bucket, f"{self.publish.model}/{self.version}", self.tell)
        self.tell(f"reading {model.path}")
        converted = model_files(model.path, self.tell)
        source, compiled = self._source(model, converted), self._compiled(exporter, model)
        standing = prefix.manifest()
        if standing is None:
            prefix.claim(self.run.name)
            folder, files = model.path, converted
            if exporter and self.publish.export:
                folder = self._export(model, source, exporter, self.publish.export)
                files = model_files(folder, self.tell)
            prefix.fill(folder, files)
            if faults := prefix.faults(files):
                raise PublishRefused([*faults, "no manifest was written; run the publish stage again"])
            prefix.finish(self._manifest(model, source, compiled, files))
        else:
            _require_same(standing, source, compiled, prefix)
        done.parent.mkdir(parents=True, exist_ok=True)
        done.touch()
        served = f". Serve it: slipway roll-out {self.publish.model}/{self.version}" if compiled else ""
        self.tell(f"published: {prefix.url}{served}")

    def _exporter(self, model: ModelFolder) -> Exporter | None:
        """Return what compiles the model; none, and a line that says why, where it is published as it is."""
        publish, environment = self.publish, self.environment
        service = environment.service_of(publish.model)
        if publish.export and service:
            return check_compatibility(publish.export, model.model, service, environment)
        reason = without_service(publish.model, environment) if publish.export else "publish.export is left out"
        self.tell(f"not compiled: {reason}. No engine serves the model as it is")
        return None

    def _export(self, model: ModelFolder, source: Source, exporter: Exporter, request: Export) -> Path:
        """Compile the model below the run's folder; another checkpoint or another request is another folder."""
        try:
            exporters = user_folder(Path(self.environment.runs_directory)) / EXPORTERS
        except NotOwn as problem:
            raise PublishRefused([str(problem)]) from None
        python = exporter_environment(exporter, exporters, self.tell)
        shape = f"b{request.batch_size}-s{request.sequence_length}-c{request.tensor_parallel_size}"
        output = Path(self.run.directory) / f"exported-{source.content_sha256[:12]}-{exporter.name}-{shape}"
        return ModelExport(model.path, request, exporter, python, self.tell).into(output)

    def _manifest(
        self, model: ModelFolder, source: Source, compiled: Compiled | None, files: Mapping[str, PublishedFile]
    ) -> Manifest:
        return Manifest(
            model=self.publish.model,
            version=self.version,
            created_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            created_by=Path(self.run.kit_directory).name,
            max_position_embeddings=model.model.configuration.max_position_embeddings,
            precision=compiled.precision if compiled else model.model.configuration.precision,
            source=source,
            compiled=compiled,
            files=files,
        )

    def _source(self, model: ModelFolder, converted: dict[str, PublishedFile]) -> Source:
        run, configuration = self.run, model.model.configuration
        source = Source(
            run=run.name,
            architecture=configuration.model_type,
            precision=configuration.precision,
            content_sha256=content_sha256(converted),
        )
        if isinstance(run, ImportRun):
            return source.model_copy(update={"imported_from": run.model.origin, "license": run.model.license})
        if not isinstance(run, TrainingRun):
            return source
        recipe = run.recipe
        trained = {
            "recipe": recipe.name,
            "step": model.step,
            "tensor_parallel_size": recipe.parallelism.tensor_parallel_size,
            "pipeline_parallel_size": recipe.parallelism.pipeline_parallel_size,
            "precision": recipe.precision,
            "neuron_release": run.neuron_release,
        }
        return source.model_copy(update=trained)

    def _compiled(self, exporter: Exporter | None, model: ModelFolder) -> Compiled | None:
        export, service = self.publish.export, self.environment.service_of(self.publish.model)
        if exporter is None or export is None or service is None:
            return None
        return Compiled(
            engine=service.engine,
            neuron_release=exporter.release,
            exporter=f"optimum-neuron {exporter.version}",
            compiler=exporter.compiler,
            batch_size=export.batch_size,
            sequence_length=export.sequence_length,
            tensor_parallel_size=export.tensor_parallel_size,
            precision=EXPORT_PRECISION,
            device_bytes=device_bytes(export, model.model),
        )


def _require_complete(run: Run) -> None:
    """Raise `PublishRefused` unless the stage that makes the model has finished."""
    before, folder = run.stages[: run.stages.index("publish")], run.model_directory
    # The converter writes slipway.json, which says which step the weights are of.
    needed = ("done", "slipway.json") if isinstance(run, TrainingRun) else ("done",)
    if before and (missing := [name for name in needed if not (folder / name).is_file()]):
        raise PublishRefused([f"{folder} is not complete (no {missing[0]!r}): run the {before[-1]} stage first"])


def _require_same(standing: Manifest, source: Source, compiled: Compiled | None, prefix: VersionPrefix) -> None:
    """A complete version never changes: the same weights compiled the same way are a success, others are refused."""
    problems = []
    if standing.source.content_sha256 != source.content_sha256:
        problems.append(
            f"{prefix.url} is published already, with other weights: {standing.source.told}; this is {source.told}. "
            "Write another publish.version"
        )
    if standing.compiled != compiled:
        problems.append(
            f"{prefix.url} is published already, and was compiled otherwise: {_shown(standing.compiled)}; this is "
            f"{_shown(compiled)}. Write another publish.version"
        )
    problems += prefix.faults(standing.files)
    if problems:
        raise PublishRefused(problems)


def _shown(compiled: Compiled | None) -> str:
    if compiled is None:
        return "not compiled"
    return (
        f"for {compiled.engine} with Neuron {compiled.neuron_release}, batch {compiled.batch_size}, sequence "
        f"{compiled.sequence_length}, {compiled.tensor_parallel_size} cores"
    )
