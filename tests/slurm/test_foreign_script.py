"""`slipway-job run` with a trainer of somebody else's: LLaMA-Factory, which knows nothing of Slipway.

Its launcher.py is what torchrun starts. It resumes from its newest checkpoint.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from slipway_jobs.run import ScriptRun, read_run
from tests.slurm.local_slurm import LocalSlurm
from tests.slurm.training_jobs import RECIPES, TRAINING_PYTHON, TrainingJobs
from tests.training.own_environment import make_own_environment

pytestmark = pytest.mark.slurm

REQUIREMENTS = Path(__file__).with_name("llamafactory.txt")
MAKE_INPUTS = Path(__file__).parents[1] / "training" / "llamafactory_inputs.py"
FOREIGN = "llamafactory==0.9.2 --hash=sha256:f0b080c2cd353ffb400c804305876000d1265567cd20f48f476292582e209e4a"
STEPS, INTERVAL = 800, 50


@pytest.fixture
def jobs(short_path: Path) -> Iterator[TrainingJobs]:
    with LocalSlurm(short_path / "c", nodes=("cpu-dy-c7i-1", "cpu-dy-c7i-2")) as cluster:
        yield TrainingJobs(cluster, short_path / "u")


@pytest.fixture
def python(short_path: Path) -> Path:
    """An environment as docs/own-code.md makes it, with LLaMA-Factory from PyPI."""
    environment = make_own_environment(short_path / "fsx", TRAINING_PYTHON.parents[1])
    foreign = short_path / "foreign.txt"
    foreign.write_text(FOREIGN, encoding="utf-8")
    for requirements in (REQUIREMENTS, foreign):
        options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:")
        subprocess.run([environment / "bin" / "pip", "install", *options, "--requirement", requirements], check=True)
    return environment / "bin" / "python"


def submit(jobs: TrainingJobs, python: Path) -> ScriptRun:
    """Fine-tune with LoRA on two nodes. No argument names Slipway: the run's checkpoints are where its name says."""
    inputs, fsx = jobs.directory / "inputs", jobs.directory / "fsx"
    subprocess.run([python, MAKE_INPUTS, inputs, RECIPES / "tiny-corpus.jsonl"], check=True)
    configuration = {
        "stage": "pt",
        "do_train": True,
        "finetuning_type": "lora",
        "lora_rank": 4,
        "model_name_or_path": str(inputs / "model"),
        "dataset_dir": str(inputs / "data"),
        "dataset": "corpus",
        "template": "empty",
        "cutoff_len": 64,
        "max_steps": STEPS,
        "save_steps": INTERVAL,
        "logging_steps": INTERVAL,
        "learning_rate": 1e-3,
        "output_dir": str(fsx / "checkpoints" / "lora"),
        "report_to": "none",
    }
    file = jobs.home / "lora.yaml"
    file.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    [script] = python.parents[1].glob("lib/python3*/site-packages/llamafactory/launcher.py")
    where = ("--queue", "cpu", "--nodes", "2", "--workers-per-node", "1", "--restarts", "2", "--name", "lora")
    # Without the second, accelerate names processors "cpu:0", and torch loads no optimizer's state to such a device.
    variables = ("--env", "HF_HUB_OFFLINE=1", "--env", "ACCELERATE_TORCH_DEVICE=cpu")
    jobs.command("run", *where, *variables, "--python", python, script, "--", file)
    run = read_run(fsx / "runs" / "lora" / "run.json")
    assert isinstance(run, ScriptRun)
    return run


def saved(run: ScriptRun) -> int:
    """The step of the newest checkpoint; its trainer's state is what is written last."""
    folders = Path(run.checkpoint_directory).glob("checkpoint-*/trainer_state.json")
    return max((int(file.parent.name.removeprefix("checkpoint-")) for file in folders), default=0)


def wait_for_checkpoint(jobs: TrainingJobs, run: ScriptRun, after: int) -> int:
    """Wait until there is a newer checkpoint than that of a step, and its writer is done; return its step."""
    jobs.cluster.wait(f"a checkpoint after step {after}", lambda: saved(run) > after)
    time.sleep(0.3)
    return saved(run)


def test_it_is_killed_twice_and_goes_on_from_its_own_checkpoints(jobs: TrainingJobs, python: Path) -> None:
    run = submit(jobs, python)
    first = wait_for_checkpoint(jobs, run, 0)
    jobs.kill_worker(run, 1)
    jobs.wait_for_start(run, "train", 2)
    second = wait_for_checkpoint(jobs, run, first + INTERVAL)
    jobs.kill_worker(run, 0)

    assert jobs.wait_for(run, "train") == "COMPLETED", jobs.log(run, "train")[-4000:]

    log = jobs.log(run, "train")
    assert [attempt.outcome for attempt in jobs.attempts(run, "train")] == ["failed", "failed", "finished"], log[-4000:]
    # Each node says it.
    resumed = re.findall(r"^0: .*Resuming training from \S+/checkpoint-(\d+)", log, re.MULTILINE)
    assert [int(step) >= least for step, least in zip(resumed, (first, second), strict=True)] == [True, True]
    steps = [row["step"] for row in state(run)["log_history"] if "loss" in row]
    assert steps == list(range(INTERVAL, STEPS + 1, INTERVAL)), "no step twice, none left out"
    assert (Path(run.checkpoint_directory) / "adapter_model.safetensors").exists()


def state(run: ScriptRun) -> dict[str, Any]:
    """What the trainer says of itself at the end."""
    text = (Path(run.checkpoint_directory) / "trainer_state.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
