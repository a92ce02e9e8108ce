"""The kinds of runs: a training, a script of the user's own, the import of a model, a fetch of data.

Every job reads its run's file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter

from slipway_jobs.recipe.model import Hardware, Publish, Recipe, Restarts
from slipway_jobs.recipe.section import Section
from slipway_jobs.run_base import RUN_FILE, STAGES, TRAINING_STAGES, Run, Stage, WorkerRun

__all__ = [
    "RUN_FILE",
    "STAGES",
    "TRAINING_STAGES",
    "DataRun",
    "FetchedData",
    "FetchedModel",
    "ImportRun",
    "Run",
    "ScriptRun",
    "Stage",
    "TrainingRun",
    "WorkerRun",
    "read_run",
    "read_training_run",
    "read_worker_run",
]


class TrainingRun(WorkerRun):
    """A submitted recipe."""

    recipe: Recipe
    """The recipe; `hardware.workers_per_node` and `data.source` are filled in and absolute."""

    prepared_directory: str
    """Folder of the tokenized data, below one of the user's; its name comes from what it is made of. Complete once it
    holds `done`."""

    validation_directory: str | None = None
    """The same of the validation text; None where the recipe names none."""

    converted_directory: str
    """Folder of the model in the transformers format. Complete once it holds `done`."""

    @property
    def kind(self) -> str:
        """What kind of run it is, as messages name it."""
        return "a training"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its jobs; a recipe that publishes nothing ends with the converted model."""
        return TRAINING_STAGES if self.recipe.publish else TRAINING_STAGES[:-1]

    @property
    def publish(self) -> Publish | None:
        """What the recipe publishes."""
        return self.recipe.publish

    @property
    def model_directory(self) -> Path:
        """The converted model."""
        return Path(self.converted_directory)

    def product(self, stage: Stage) -> Path | None:
        """Return the prepared data or the converted model."""
        made = {"prepare": self.prepared_directory, "convert": self.converted_directory}.get(stage)
        return Path(made) if made else None

    @property
    def hardware(self) -> Hardware:
        """The recipe's."""
        return self.recipe.hardware

    @property
    def restarts(self) -> Restarts:
        """The recipe's."""
        return self.recipe.restarts

    @property
    def metrics_file(self) -> Path:
        """Lines of JSON, one for each step; `slipway_jobs.watching.metrics.StepMetrics` says what is in one."""
        return Path(self.directory) / "metrics.jsonl"

    @property
    def validation(self) -> TrainingRun | None:
        """The run as it would be over the validation text; None where the recipe names none."""
        data = self.recipe.data
        if data.validation is None:
            return None
        assert self.validation_directory
        over = data.model_copy(update={"source": data.validation.source, "validation": None})
        recipe = self.recipe.model_copy(update={"data": over})
        return self.model_copy(update={"recipe": recipe, "prepared_directory": self.validation_directory})

    @property
    def validation_file(self) -> Path:
        """Lines of JSON, one for each measurement: `slipway_jobs.watching.metrics.ValidationMetrics`."""
        return Path(self.directory) / "validation.jsonl"

    @property
    def tensorboard_directory(self) -> Path:
        """TensorBoard's event files."""
        return Path(self.directory) / "tensorboard"


class ScriptRun(WorkerRun):
    """A program of the user's own, on nodes with everything that a training of Slipway's finds there."""

    nodes: Hardware
    """Its nodes and workers."""

    limits: Restarts
    """What happens when it fails or is told to stop."""

    program: str
    """The Python script that torchrun starts."""

    arguments: tuple[str, ...]
    """Its arguments."""

    compile_arguments: tuple[str, ...] | None
    """Further arguments with which the compile job runs it; None without such a job."""

    working_directory: str
    """Folder that it starts in."""

    save_seconds: int
    """How long it may take to save a checkpoint after a signal."""

    environment_variables: dict[str, str]
    """Variables of the script alone. They win over Slipway's own."""

    @property
    def kind(self) -> str:
        """What kind of run it is, as messages name it."""
        return "a script"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its jobs."""
        return ("train",) if self.compile_arguments is None else ("compile", "train")

    @property
    def publish(self) -> Publish | None:
        """Nothing: a script's files are its own."""
        return None

    @property
    def model_directory(self) -> Path:
        """Where it is asked to save what it makes."""
        return Path(self.checkpoint_directory)

    def product(self, stage: Stage) -> Path | None:
        """Return None: what a script makes is its own."""
        del stage
        return None

    @property
    def hardware(self) -> Hardware:
        """Its nodes and workers."""
        return self.nodes

    @property
    def restarts(self) -> Restarts:
        """Its limits."""
        return self.limits


class FetchedModel(Section):
    """A model in the transformers format, and where it comes from."""

    directory: str
    """Its folder; that of a repository is complete once it holds `done`."""

    repository: str | None = None
    """Its repository on the Hugging Face Hub, for example `weblab-GENIAC/Tanuki-8B-dpo-v1.0`; None for a folder."""

    commit: str | None = None
    """The commit of the repository."""

    hub: str | None = None
    """Address of the Hub, or of a mirror of it (HF_ENDPOINT); None for a folder."""

    license: str | None = None
    """The licence that the repository names."""

    @property
    def origin(self) -> str:
        """Repository and commit, or the folder."""
        return f"{self.repository}@{self.commit}" if self.repository else self.directory


class ImportRun(Run):
    """A model that others trained, on its way to the endpoint."""

    model: FetchedModel
    """The model."""

    publication: Publish
    """What goes to the model bucket; `version` and `export` are filled in."""

    @property
    def kind(self) -> str:
        """What kind of run it is, as messages name it."""
        return "an import"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its jobs; a folder needs no fetching."""
        return ("fetch", "publish") if self.model.repository else ("publish",)

    @property
    def publish(self) -> Publish | None:
        """What goes to the model bucket."""
        return self.publication

    @property
    def model_directory(self) -> Path:
        """The folder of the model."""
        return Path(self.model.directory)

    def product(self, stage: Stage) -> Path | None:
        """Return the fetched model."""
        return self.model_directory if stage == "fetch" else None


class FetchedData(Section):
    """A data set of others, and where it goes."""

    source: str
    """`hf:OWNER/NAME` or `s3://BUCKET/PREFIX`."""

    revision: str
    """The commit; of objects, a digest of their names, sizes and ETags."""

    hub: str | None = None
    """Address of the Hub, or of a mirror of it (HF_ENDPOINT); None for S3."""

    license: str | None = None
    """The licence that the data set names."""

    include: tuple[str, ...]
    """Patterns of the files that are fetched."""

    shared_directory: str
    """The folder that users share."""

    directory: str
    """The data set's folder below it; complete once it holds `done`."""

    work_directory: str
    """Folder of files whose content is not compared yet, below one of the user's."""

    @property
    def origin(self) -> str:
        """Source, revision and patterns: what two fetches must have in common to bring the same."""
        return f"{self.source}@{self.revision} ({', '.join(self.include)})"


class DataRun(Run):
    """A data set of others on its way to /fsx."""

    data: FetchedData
    """The data set."""

    @property
    def kind(self) -> str:
        """What kind of run it is, as messages name it."""
        return "a fetch of data"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its only job."""
        return ("fetch",)

    @property
    def publish(self) -> Publish | None:
        """Nothing."""
        return None

    @property
    def model_directory(self) -> Path:
        """The data set's folder: what the run makes."""
        return Path(self.data.directory)

    def product(self, stage: Stage) -> Path | None:
        """Return the data set's folder."""
        return Path(self.data.directory) if stage == "fetch" else None


AnyRun: TypeAlias = TrainingRun | ImportRun | ScriptRun | DataRun
"""A run of any kind."""


def read_run(file: Path) -> AnyRun:
    """Read a run's file.

    Raises:
        OSError: it cannot be read.
        pydantic.ValidationError: it is not a run's file.
    """
    content = file.read_bytes()
    return _ANY_RUN.validate_json(content)


def read_training_run(file: Path) -> TrainingRun:
    """Read the file of a training.

    Raises:
        OSError: it cannot be read.
        pydantic.ValidationError: it is not a training's file.
    """
    return TrainingRun.model_validate_json(file.read_bytes())


def read_worker_run(file: Path) -> WorkerRun:
    """Read the file of a run that has workers.

    Raises:
        OSError: it cannot be read.
        TypeError: it is another run's file.
        pydantic.ValidationError: it is not a run's file.
    """
    run = read_run(file)
    if not isinstance(run, WorkerRun):
        raise TypeError(f"{file}: {run.kind} has no workers")
    return run


_ANY_RUN: TypeAdapter[AnyRun] = TypeAdapter(AnyRun)
