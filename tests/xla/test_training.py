"""Trainings on PyTorch/XLA's CPU device: the graphs they compile, and that they compute what processors compute."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from slipway_jobs.run import TrainingRun
from tests.training.tiny_runs import BERT, KIT, LLAMA, losses, make_prepared_run, run_training, validation_losses

HERE = Path(__file__).parent
NEURONX_DISTRIBUTED = os.environ.get("NEURONX_DISTRIBUTED")
"""A checkout of NeuronX Distributed (v2.28.0), which is not on PyPI; without it, its cases are skipped."""

NEEDS_NEURONX_DISTRIBUTED = pytest.mark.skipif(
    NEURONX_DISTRIBUTED is None, reason="NEURONX_DISTRIBUTED names no checkout of it"
)
LONG_BERT = {**BERT, "max_position_embeddings": 64}
QWEN2 = {**LLAMA, "architecture": "qwen2"}
QWEN3 = {**LLAMA, "architecture": "qwen3", "head_dim": 8}
TIED_LLAMA = {**LLAMA, "tie_word_embeddings": True}


@dataclass(frozen=True)
class Case:
    """A training."""

    model: dict[str, Any]
    optimizer: str
    strategy: str = "data_parallel"
    activation_checkpointing: str = "none"

    def make(self, folder: Path, device: str, steps: int, *, validated: bool = False) -> TrainingRun:
        """Make its run for one worker on a device."""
        folder.mkdir()
        text = {"source": str(folder / "text.jsonl"), "interval_steps": 3, "batches": 2}
        neuron = {"device": "neuron", "instance_type": "trn1.32xlarge"} if device == "neuron" else {}
        return make_prepared_run(
            folder,
            self.model,
            hardware={**neuron, "workers_per_node": 1},
            data={
                "sequence_length": 32 if self.model is LONG_BERT else 16,
                "validation": text if validated else None,
            },
            parallelism={"strategy": self.strategy, "activation_checkpointing": self.activation_checkpointing},
            batch={"global_size": 4},
            optimizer={"name": self.optimizer},
            checkpoint={"interval_steps": max(4, steps // 4)},
            steps=steps,
        )


def parameters(*cases: Case) -> list[Any]:
    """Return cases as pytest's parameters, with the marks that they need."""
    return [
        pytest.param(
            case,
            marks=[NEEDS_NEURONX_DISTRIBUTED] if case.strategy == "tensor_parallel" else [],
            id=f"{case.strategy}-{case.model['architecture']}-{case.optimizer}-{case.activation_checkpointing}",
        )
        for case in cases
    ]


CASES = parameters(
    Case(LONG_BERT, "lamb"),
    Case(LLAMA, "adamw"),
    Case(LLAMA, "adamw", "tensor_parallel", "selective_mlp"),
    Case(TIED_LLAMA, "adamw", "tensor_parallel", "selective"),
    Case(TIED_LLAMA, "adamw", "tensor_parallel", "full"),
    Case(QWEN2, "adamw", "tensor_parallel", "selective"),
    Case(QWEN3, "adamw", "tensor_parallel", "none"),
)


def trained(run: TrainingRun, stop_after: int) -> dict[str, Any]:
    """Compile, train, stop after a step (0: do not) and resume, on PyTorch/XLA; return what was seen."""
    paths = [str(KIT), str(KIT.parents[1])]
    if run.recipe.parallelism.strategy == "tensor_parallel":
        paths = [str(HERE / "stubs"), f"{NEURONX_DISTRIBUTED}/src", *paths]
    one_worker = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "TORCHELASTIC_RUN_ID": "x", "PJRT_DEVICE": "CPU"}
    finished = subprocess.run(
        [sys.executable, "-m", "tests.xla.count_graphs", str(run.file), str(stop_after)],
        env={**os.environ, **one_worker, **meeting, "PYTHONPATH": ":".join(paths), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    seen: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return seen


@dataclass(frozen=True)
class Trained:
    """A case's trainings."""

    case: Case
    stopped: TrainingRun
    """Stopped after half of its steps, and resumed; its validation loss is measured."""

    graphs: dict[str, int]
    """What that compiled: in the compile job, before the stop and after it."""

    straight: TrainingRun
    """Never stopped, nothing measured."""

    weights: list[str]
    """Names of its weights, each weight once."""


@pytest.fixture(scope="session", params=CASES)
def training(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    case: Case = request.param
    folder = tmp_path_factory.mktemp("case")
    stopped = case.make(folder / "stopped", "neuron", steps=12, validated=True)
    straight = case.make(folder / "straight", "neuron", steps=12)
    graphs = trained(stopped, stop_after=6)["graphs"]
    return Trained(case, stopped, graphs, straight, trained(straight, stop_after=0)["weights"])


def test_the_compile_job_meets_every_graph(training: Trained) -> None:
    """Each other graph would be compiled on all nodes of the train job, which cost by the hour."""
    assert training.graphs["compile"] > 0
    assert (training.graphs["train"], training.graphs["resume"]) == (0, 0)


def test_a_resumed_training_that_measures_has_the_same_losses(training: Trained) -> None:
    assert len(losses(training.straight)) == 12
    assert losses(training.stopped) == losses(training.straight)


def test_the_device_has_the_losses_of_processors(training: Trained, tmp_path: Path) -> None:
    """Tied weights that the device holds twice show here: they learn apart."""
    if training.case.model is LONG_BERT:
        pytest.skip("its dropout has other random numbers on the device")
    on_processors = training.case.make(tmp_path / "cpu", "cpu", steps=12, validated=True)
    status, output = run_training(on_processors, workers=1)
    assert status == 0, output

    assert losses(training.straight) == pytest.approx(losses(on_processors), rel=2e-5)
    assert sorted(validation_losses(training.stopped)) == [3, 6, 9, 12]
    assert validation_losses(training.stopped) == pytest.approx(validation_losses(on_processors), rel=2e-5)


def test_tied_embeddings_are_one_weight(training: Trained) -> None:
    tied = training.case.model.get("tie_word_embeddings", False)
    if "llama" in training.case.model["architecture"]:
        assert ("lm_head.weight" in training.weights) == (not tied)


@pytest.mark.parametrize(
    "case", parameters(Case(LLAMA, "adamw"), Case(TIED_LLAMA, "adamw", "tensor_parallel", "selective"))
)
def test_no_graph_is_compiled_late_and_the_last_step_leaves_numbers(case: Case, tmp_path: Path) -> None:
    """AdamW's bias correction of 0.95 is 1 in float32 from step 325 on, and the last learning rate is 0."""
    seen = trained(case.make(tmp_path / "run", "neuron", steps=350), stop_after=0)

    assert seen["graphs"]["train"] == 0
    assert not seen["not_finite"]
