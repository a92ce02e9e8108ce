"""A run: one recipe with everything that was decided when it was submitted. Every job of the chain reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from slipway_jobs.recipe.model import Name, Recipe
from slipway_jobs.recipe.section import Section

Stage = Literal["prepare", "compile", "train", "convert", "publish"]
"""A job of the chain."""

STAGES: tuple[Stage, ...] = ("prepare", "compile", "train", "convert", "publish")
"""The chain in its order."""

RUN_FILE = "run.json"
"""Name of the file in the run's folder."""


class Run(Section):
    """A submitted recipe. Paths are absolute; they are strings so that the file stays plain JSON."""

    name: Name
    """The run's name."""

    scheduler: Literal["slurm", "kubernetes"] = "slurm"
    """What it was submitted to."""

    recipe: Recipe
    """The recipe; `hardware.workers_per_node` and `data.source` are filled in and absolute."""

    queue: str
    """Partition of the compile and train jobs."""

    cpu_queue: str
    """Partition of the prepare, convert and publish jobs."""

    training_stack: str
    """Training stack whose Python environment all jobs use."""

    neuron_release: str
    """Its Neuron SDK release."""

    compiler: str
    """Its version of neuronx-cc, the key of the compile cache."""

    python: str
    """Its Python interpreter, by the path that never changes."""

    kit_directory: str
    """The kit's own code: the folder that holds `slipway_jobs`, `slipway_training` and `slipway_conversion`."""

    kit_python: str
    """The Python interpreter that runs the kit (pydantic, boto3), no PyTorch."""

    environment_file: str
    """The environment's file."""

    directory: str
    """The run's folder."""

    checkpoint_directory: str
    """The run's folder of checkpoints: `step_00000100/`, complete once it holds the file `done`."""

    prepared_directory: str
    """Folder of the tokenized data, below one of the user's; its name comes from what it is made of. Complete once it
    holds `done`."""

    converted_directory: str
    """Folder of the model in the transformers format. Complete once it holds `done`."""

    scratch_directory: str
    """Local disk of a node."""

    compile_cache: str
    """Folder of the user's compile cache, which nodes share."""

    model_bucket: str
    """Bucket for the published model."""

    region: str
    """AWS Region."""

    master_port: int
    """TCP port of torchrun's rendezvous."""

    usd_per_node_hour: float | None
    """List price of one node of the train job."""

    @property
    def file(self) -> Path:
        """The run's file."""
        return Path(self.directory) / RUN_FILE

    @property
    def metrics_file(self) -> Path:
        """Lines of JSON, one for each logged step: step, loss, learning_rate, tokens, tokens_per_second, time."""
        return Path(self.directory) / "metrics.jsonl"

    @property
    def tensorboard_directory(self) -> Path:
        """TensorBoard's event files."""
        return Path(self.directory) / "tensorboard"

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

    @property
    def world_size(self) -> int:
        """Workers of the train job."""
        return self.recipe.hardware.nodes * (self.recipe.hardware.workers_per_node or 0)


def read_run(file: Path) -> Run:
    """Read a run's file.

    Raises:
        OSError: it cannot be read.
        pydantic.ValidationError: it is not a run's file.
    """
    return Run.model_validate_json(file.read_text(encoding="utf-8"))
