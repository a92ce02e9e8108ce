"""A run: a chain of jobs with everything that was decided when it was submitted. Every job of the chain reads it."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from slipway_jobs.recipe.model import Name, Publish, Recipe
from slipway_jobs.recipe.section import Section

Stage = Literal["fetch", "prepare", "compile", "train", "convert", "publish"]
"""A job of a chain."""

STAGES: tuple[Stage, ...] = ("fetch", "prepare", "compile", "train", "convert", "publish")
"""All of them, in the order that every chain keeps."""

TRAINING_STAGES: tuple[Stage, ...] = STAGES[1:]
"""The chain of a training that publishes its model."""

RUN_FILE = "run.json"
"""Name of the file in the run's folder."""


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
        """Where it comes from, in a word."""
        return f"{self.repository}@{self.commit}" if self.repository else self.directory


class Run(Section):
    """What all chains share. Paths are absolute; they are strings so that the file stays plain JSON."""

    name: Name
    """The run's name."""

    scheduler: Literal["slurm", "kubernetes"] = "slurm"
    """What it was submitted to."""

    cpu_queue: str
    """Partition of the jobs that take one node without accelerator."""

    kit_directory: str
    """The kit's own code: the folder that holds `slipway_jobs`, `slipway_training` and `slipway_conversion`."""

    kit_python: str
    """The Python interpreter that runs the kit (pydantic, boto3), no PyTorch."""

    environment_file: str
    """The environment's file."""

    directory: str
    """The run's folder."""

    scratch_directory: str
    """Local disk of a node."""

    model_bucket: str
    """Bucket for the published model."""

    region: str
    """AWS Region."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What it is, for people."""

    @property
    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """Its jobs, in their order."""

    @property
    @abstractmethod
    def publish(self) -> Publish | None:
        """What goes to the model bucket, or None if nothing does."""

    @property
    @abstractmethod
    def model_directory(self) -> Path:
        """Folder of the model in the transformers format that is published."""

    @abstractmethod
    def product(self, stage: Stage) -> Path | None:
        """Return the folder that a stage makes beside the run's own, complete once it holds `done`; None without."""

    @property
    def restart_limit(self) -> int:
        """Failures after which the run is still started again."""
        return 0

    @property
    def file(self) -> Path:
        """The run's file."""
        return Path(self.directory) / RUN_FILE

    @property
    def chain_file(self) -> Path:
        """The submitted jobs, by stage."""
        return Path(self.directory) / "chain.json"

    def script(self, stage: Stage) -> Path:
        """Return the path of a stage's sbatch script."""
        return Path(self.directory) / "scripts" / f"{stage}.sbatch"

    def log(self, stage: Stage) -> Path:
        """Return the path of a stage's log; requeued and resubmitted jobs append to it."""
        return Path(self.directory) / "logs" / f"{stage}.log"

    def done_file(self, stage: Stage) -> Path:
        """Return the path of the file that says a stage is finished."""
        return Path(self.directory) / "stages" / f"{stage}.done"


class TrainingRun(Run):
    """A submitted recipe."""

    recipe: Recipe
    """The recipe; `hardware.workers_per_node` and `data.source` are filled in and absolute."""

    queue: str
    """Partition of the compile and train jobs."""

    training_stack: str
    """Training stack whose Python environment all jobs use."""

    neuron_release: str
    """Its Neuron SDK release."""

    compiler: str
    """Its version of neuronx-cc, the key of the compile cache."""

    python: str
    """Its Python interpreter, by the path that never changes."""

    checkpoint_directory: str
    """The run's folder of checkpoints: `step_00000100/`, complete once it holds the file `done`."""

    prepared_directory: str
    """Folder of the tokenized data, below one of the user's; its name comes from what it is made of. Complete once it
    holds `done`."""

    converted_directory: str
    """Folder of the model in the transformers format. Complete once it holds `done`."""

    compile_cache: str
    """Folder of the user's compile cache, which nodes share."""

    master_port: int
    """TCP port of torchrun's rendezvous."""

    usd_per_node_hour: float | None
    """List price of one node of the train job."""

    @property
    def kind(self) -> str:
        """What it is, for people."""
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
    def restart_limit(self) -> int:
        """What the recipe says."""
        return self.recipe.restarts.limit

    @property
    def metrics_file(self) -> Path:
        """Lines of JSON, one for each logged step: step, loss, learning_rate, tokens, tokens_per_second, time."""
        return Path(self.directory) / "metrics.jsonl"

    @property
    def tensorboard_directory(self) -> Path:
        """TensorBoard's event files."""
        return Path(self.directory) / "tensorboard"

    @property
    def world_size(self) -> int:
        """Workers of the train job."""
        return self.recipe.hardware.nodes * (self.recipe.hardware.workers_per_node or 0)


class ImportRun(Run):
    """A model that others trained, on its way to the endpoint."""

    model: FetchedModel
    """The model."""

    publication: Publish
    """What goes to the model bucket; `version` and `export` are filled in."""

    @property
    def kind(self) -> str:
        """What it is, for people."""
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


def read_run(file: Path) -> TrainingRun | ImportRun:
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


_ANY_RUN: TypeAdapter[TrainingRun | ImportRun] = TypeAdapter(TrainingRun | ImportRun)
