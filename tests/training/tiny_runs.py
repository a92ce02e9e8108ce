"""Runs small enough for a test: a model of a few thousand weights on two processes, and text for it."""

import json
import random
import sys
from pathlib import Path
from typing import Any

from slipway_jobs.run import TrainingRun
from slipway_training.prepare.build import prepare
from tests.training.gloo_workers import run_below_torchrun

KIT = Path(__file__).parents[2] / "assets" / "jobs"
BERT = {
    "architecture": "bert",
    "vocab_size": 384,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
}
LLAMA = {
    "architecture": "llama",
    "vocab_size": 384,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "eos_token_id": 1,
}
RECIPE: dict[str, Any] = {
    "name": "tiny",
    "hardware": {"device": "cpu", "framework": "xla", "nodes": 1, "workers_per_node": 2},
    "data": {"tokenizer": "byte-level", "sequence_length": 16},
    "parallelism": {"strategy": "data_parallel", "activation_checkpointing": "none"},
    "precision": "float32",
    "batch": {"global_size": 8, "micro_size": 2},
    "steps": 6,
    "optimizer": {"learning_rate": 1e-2, "warmup_steps": 2},
    "checkpoint": {"interval_steps": 2, "keep": 2},
}


def write_text(folder: Path) -> Path:
    """Write documents of random words, the same each time, and return the file."""
    words, chance = ["stone", "river", "wolf", "crow", "seeks", "finds", "of", "the", "old"], random.Random(1)
    sentences = (" ".join(chance.choices(words, k=5)) + "." for _ in range(120))
    file = folder / "text.jsonl"
    file.write_text("".join(json.dumps({"text": f"{s} {next(sentences)}"}) + "\n" for s in sentences))
    return file


def make_run(folder: Path, model: dict[str, Any], **sections: Any) -> TrainingRun:
    """Make a run below a folder. A section given as a mapping changes only the keys in it."""
    recipe = {**RECIPE, "model": model}
    for key, value in sections.items():
        recipe[key] = {**recipe.get(key, {}), **value} if isinstance(value, dict) else value
    recipe["data"] = {"source": str(folder / "text.jsonl"), **recipe["data"]}
    parts = ("checkpoint", "prepared", "validation", "converted", "scratch")
    paths = [f"{part}_directory" for part in parts]
    values = {
        "name": "tiny",
        "recipe": recipe,
        "python": sys.executable,
        "kit_directory": str(KIT),
        "directory": str(folder / "run"),
        **{name: str(folder / name) for name in paths},
        "master_port": 0,
        "usd_per_node_hour": None,
    }
    values |= {
        name: "test" for name, field in TrainingRun.model_fields.items() if field.is_required() and name not in values
    }
    run = TrainingRun.model_validate_json(json.dumps(values))
    run.file.parent.mkdir(parents=True, exist_ok=True)
    run.file.write_text(run.model_dump_json())
    return run


def make_prepared_run(folder: Path, model: dict[str, Any], **sections: Any) -> TrainingRun:
    """Make a run whose text is prepared."""
    if not (folder / "text.jsonl").exists():
        write_text(folder)
    run = make_run(folder, model, **sections)
    prepare(run, processes=1)
    if run.validation:
        prepare(run.validation, processes=1)
    return run


def run_training(
    run: TrainingRun,
    *,
    workers: int = 2,
    module: str = "slipway_training",
    environment: dict[str, str] | None = None,
) -> tuple[int, str]:
    """Run a train job to its end below torchrun and return exit status and output."""
    arguments = ("--run-file", str(run.file), "--purpose", "train")
    return run_below_torchrun(workers, module, arguments, {"OMP_NUM_THREADS": "1"} | (environment or {}))


def losses(run: TrainingRun) -> dict[int, float]:
    """Return the loss of each step in the metrics file; each step is there once."""
    return _losses(run.metrics_file)


def validation_losses(run: TrainingRun) -> dict[int, float]:
    """Return each validation loss by the step after which it was measured."""
    return _losses(run.validation_file)


def _losses(file: Path) -> dict[int, float]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    found = {line["step"]: line["loss"] for line in lines}
    assert len(found) == len(lines)
    return found
