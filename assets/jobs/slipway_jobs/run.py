"""The kinds of runs: a training, a script of the user's own, the import of a model, a fetch of data.

Every job reads its run's file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter

from slipway_jobs.recipe.model import Hardware, Publish, Recipe, Restarts
from slipway_jobs.run_base import RUN_FILE, STAGES, TRAINING_STAGES, Run, Stage, WorkerRun
from slipway_jobs.run_fetches import DataRun, FetchedData, FetchedModel, ImportRun

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
