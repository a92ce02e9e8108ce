"""Training outside Slurm: the programs of the training environment, and a run that nothing disturbs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from slipway_jobs.run import RUN_FILE, TrainingRun
from tests.slurm.training_jobs import KIT, TRAINING_PYTHON


def losses(file: Path) -> dict[int, float]:
    """The last loss of each step: a resumed run repeats some."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {line["step"]: line["loss"] for line in lines}


def in_training_environment(*words: str | Path) -> str:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(KIT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [TRAINING_PYTHON, *words], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def train_undisturbed(run: TrainingRun, directory: Path) -> Path:
    """Train the same recipe on the same samples without Slurm and without a break; return the file of its metrics."""
    straight = run.model_copy(
        update={"directory": str(directory), "checkpoint_directory": str(directory / "checkpoints")}
    )
    directory.mkdir()
    (directory / RUN_FILE).write_text(straight.model_dump_json(), encoding="utf-8")
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(run.world_size))
    in_training_environment(
        *torchrun, "-m", "slipway_training", "--run-file", directory / RUN_FILE, "--purpose", "train"
    )
    return straight.metrics_file
