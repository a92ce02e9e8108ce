"""What all runs share: a chain of jobs with everything that was decided when it was submitted."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Literal

from slipway_jobs.recipe.model import Hardware, Name, Publish, Restarts
from slipway_jobs.recipe.section import Section

Stage = Literal["fetch", "prepare", "compile", "train", "convert", "publish"]
"""A job of a chain."""

STAGES: tuple[Stage, ...] = ("fetch", "prepare", "compile", "train", "convert", "publish")
"""All of them, in the order that every chain keeps."""

TRAINING_STAGES: tuple[Stage, ...] = STAGES[1:]
"""The chain of a training that publishes its model."""

RUN_FILE = "run.json"
"""Name of the file in the run's folder."""


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
        """What kind of run it is, as messages name it."""

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
    def device_samples(self) -> Path:
        """Folder with a file for each node of the train job on Neuron devices: use and memory of its NeuronCores."""
        return Path(self.directory) / "devices"

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


class WorkerRun(Run):
    """A run whose train job has workers on several nodes, and a compile job before it where that is wanted."""

    queue: str
    """Partition of the compile and train jobs."""

    training_stack: str
    """Training stack whose Python environment the jobs use."""

    neuron_release: str
    """Its Neuron SDK release."""

    compiler: str
    """Its version of neuronx-cc, the key of the compile cache."""

    python: str
    """The Python interpreter of the workers, by a path that never changes."""

    checkpoint_directory: str
    """The run's folder of checkpoints."""

    compile_cache: str
    """Folder of the user's compile cache, which nodes share."""

    master_port: int
    """TCP port of torchrun's rendezvous."""

    usd_per_node_hour: float | None
    """List price of one node of the train job."""

    @property
    @abstractmethod
    def hardware(self) -> Hardware:
        """Its nodes and workers; `workers_per_node` is filled in."""

    @property
    @abstractmethod
    def restarts(self) -> Restarts:
        """What happens when the train job fails or is told to stop."""

    @property
    def restart_limit(self) -> int:
        """Failures after which the run is still started again."""
        return self.restarts.limit

    @property
    def world_size(self) -> int:
        """Workers of the train job."""
        return self.hardware.nodes * (self.hardware.workers_per_node or 0)
