"""What resolve decides: queue, stack, paths, the name of the prepared data; and the files that a recipe names."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from slipway_jobs.check.resolve import resolve
from slipway_jobs.environment import Environment
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.problems import RecipeProblems
from slipway_jobs.recipe.shipped import RECIPES_DIRECTORY
from slipway_jobs.run import TrainingRun, read_training_run
from tests.jobs.recipe_case import ENVIRONMENTS, environment, problems_of, run_of


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A copy of the tiny recipe with its text."""
    for name in ("tiny-llama.yaml", "tiny-corpus.jsonl"):
        shutil.copy(RECIPES_DIRECTORY / name, tmp_path)
    return tmp_path / "tiny-llama.yaml"


def resolved(file: Path, *overrides: str, name: str | None = None, where: Environment | None = None) -> TrainingRun:
    recipe = load_recipe(file, overrides)
    return resolve(recipe, file, where or environment("cpu"), ENVIRONMENTS / "cpu.json", name)


def test_decides_everything_a_job_needs_to_know() -> None:
    run = run_of("llama-3-8b")
    assert (run.queue, run.cpu_queue, run.training_stack, run.compiler) == ("trn1", "cpu", "xla-2.28", "2.23.6484.0")
    assert run.recipe.hardware.workers_per_node == 32
    assert run.world_size == 128
    assert run.usd_per_node_hour == 21.5
    assert run.checkpoint_directory == "/fsx/checkpoints/llama-3-8b"
    assert run.compile_cache == f"/fsx/runs/.user-{os.getuid()}/compile-cache/2.23.6484.0"


def test_a_run_can_be_written_and_read(tiny: Path, tmp_path: Path) -> None:
    run = resolved(tiny)
    file = tmp_path / "run.json"
    file.write_text(run.model_dump_json(), encoding="utf-8")
    assert read_training_run(file) == run


def test_processors_take_a_queue_without_accelerators_and_a_stack_of_the_framework() -> None:
    assert run_of("tiny-llama", where="trn1").queue == "cpu"
    assert run_of("tiny-llama", "hardware.queue=trn1", where="trn1").queue == "trn1"
    assert run_of("tiny-llama-native", where="cpu").training_stack == "native-2.33"
    [problem] = problems_of("tiny-llama-native", where="trn1")
    assert "no training stack of the cluster is of the framework `native`. The cluster has `xla-2.28` (xla)" in problem


def test_the_python_is_pinned_by_the_path_that_never_changes(tiny: Path, tmp_path: Path) -> None:
    real = tmp_path / "stacks" / "xla-2.28-python3.10-abc"
    (real / "bin").mkdir(parents=True)
    (tmp_path / "stacks" / "xla-2.28").symlink_to(real.name)
    where = environment("cpu").model_copy(update={"training_stacks_directory": str(tmp_path / "stacks")})
    assert resolved(tiny, where=where).python == str(real / "bin" / "python")


def test_paths_count_from_the_recipes_folder(tiny: Path) -> None:
    folder = tiny.parent / "tokenizer"
    folder.mkdir()
    run = resolved(tiny, "data.tokenizer=tokenizer", "model.vocab_size=512")
    assert run.recipe.data.source == str(tiny.parent / "tiny-corpus.jsonl")
    assert run.recipe.data.tokenizer == str(folder)
    assert run_of("llama-2-7b").recipe.data.tokenizer == "meta-llama/Llama-2-7b-hf"


def test_prepared_data_is_shared_until_something_it_is_made_of_changes(tiny: Path) -> None:
    first = resolved(tiny).prepared_directory
    assert resolved(tiny, "steps=30", "optimizer.learning_rate=1e-3", name="other").prepared_directory == first
    assert resolved(tiny, "data.sequence_length=64").prepared_directory != first
    corpus = tiny.parent / "tiny-corpus.jsonl"
    corpus.write_text(corpus.read_text(encoding="utf-8") + '{"text": "more"}\n', encoding="utf-8")
    assert resolved(tiny).prepared_directory != first


def test_a_run_has_a_name_of_its_own(tiny: Path) -> None:
    assert resolved(tiny, name="second").directory == "/fsx/runs/second"
    for name in ("../up", "Upper", "", "a/b", "x" * 64):
        with pytest.raises(RecipeProblems, match="is not a run's name"):
            resolved(tiny, name=name)


def test_missing_text_is_refused_where_this_machine_can_see_it(tiny: Path) -> None:
    with pytest.raises(RecipeProblems, match=r"--set data\.source=nix.*no file of text"):
        resolved(tiny, "data.source=nix.jsonl")
    assert resolved(tiny, "data.source=/not-mounted-here/x/*.jsonl").recipe.data.source == "/not-mounted-here/x/*.jsonl"
    assert resolved(tiny, f"data.source={tiny.parent}/*.jsonl")


@pytest.mark.parametrize("source", ["/not-mounted-here/*.json", "/not-mounted-here/a.jsonl.gz", "shards.arrow"])
def test_text_of_a_kind_that_is_not_read_is_refused_everywhere(tiny: Path, source: str) -> None:
    with pytest.raises(RecipeProblems, match=rf"\{Path(source).suffix} files are not read\. Name .*\.parquet"):
        resolved(tiny, f"data.source={source}")


MEASURED = ("data.validation.interval_steps=10", "data.validation.batches=2")


def test_validation_text_is_checked_as_the_text_to_train_on(tiny: Path) -> None:
    other = tiny.parent / "other"
    other.mkdir()
    with pytest.raises(RecipeProblems, match=r"data\.validation\.source=other.*no file of text is at"):
        resolved(tiny, "data.validation.source=other", *MEASURED)
    (other / "text.jsonl").write_text('{"text": "other"}\n', encoding="utf-8")
    run = resolved(tiny, "data.validation.source=other", *MEASURED)
    assert run.validation
    assert run.validation.recipe.data.source == str(other)
    assert run.validation.prepared_directory == run.validation_directory != run.prepared_directory
    assert run.prepared_directory == resolved(tiny).prepared_directory
    with pytest.raises(RecipeProblems, match=r"source=other/\*\.jsonl: .*/other/text\.jsonl is trained on, too"):
        resolved(tiny, f"data.source={tiny.parent}", "data.validation.source=other/*.jsonl", *MEASURED)
    (other / "slipway-data.json").touch()
    with pytest.raises(RecipeProblems, match=r"source=other: .*/other is not complete: a fetch fills it"):
        resolved(tiny, "data.validation.source=other", *MEASURED)


def test_initial_weights_must_be_there_and_of_the_same_model(tiny: Path) -> None:
    weights = tiny.parent / "weights"
    with pytest.raises(RecipeProblems, match=r"it has no config\.json"):
        resolved(tiny, "initial_weights=weights")
    weights.mkdir()
    (weights / "config.json").write_text(json.dumps({"hidden_size": 128, "vocab_size": 384}), encoding="utf-8")
    with pytest.raises(RecipeProblems, match=r"model\.hidden_size: 64, and .*config\.json has 128\. Write 128"):
        resolved(tiny, "initial_weights=weights")
    (weights / "config.json").write_text(json.dumps({"hidden_size": 64}), encoding="utf-8")
    assert resolved(tiny, "initial_weights=weights").recipe.initial_weights == str(weights)


LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


@pytest.mark.parametrize(
    ("there", "message"),
    [
        ({"rope_theta": 500000.0}, r"model\.rope_theta: 10000\.0, and .*config\.json has 500000\.0\. Write 500000"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}}, r"model\.rope_theta: .* 500000"),
        ({"rope_parameters": {**LLAMA3, "rope_theta": 10000.0}}, r"model\.rope_scaling: it is not that .*llama3"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, r"rope_scaling: .*linear.*only `llama3` is known"),
    ],
)
def test_initial_weights_of_another_rotary_embedding_are_refused(tiny: Path, there: object, message: str) -> None:
    weights = tiny.parent / "weights"
    weights.mkdir()
    (weights / "config.json").write_text(json.dumps(there), encoding="utf-8")
    with pytest.raises(RecipeProblems, match=message):
        resolved(tiny, "initial_weights=weights")


def test_initial_weights_of_the_same_rotary_embedding_are_taken_in_both_spellings(tiny: Path) -> None:
    weights = tiny.parent / "weights"
    weights.mkdir()
    overrides = [f"model.rope_scaling.{name}={value}" for name, value in LLAMA3.items()]
    for there in (
        {"rope_theta": 10000.0, "rope_scaling": LLAMA3},
        {"rope_parameters": {**LLAMA3, "rope_theta": 10000.0}},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
    ):
        (weights / "config.json").write_text(json.dumps(there), encoding="utf-8")
        assert resolved(tiny, "initial_weights=weights", *overrides)


def test_a_tokenizer_with_more_tokens_than_rows_is_refused(tiny: Path) -> None:
    folder = tiny.parent / "tokenizer"
    folder.mkdir()
    tokens = {"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": [{"id": 499, "content": "<end>"}]}
    (folder / "tokenizer.json").write_text(json.dumps(tokens), encoding="utf-8")
    with pytest.raises(RecipeProblems, match=r"384 rows for the 500 tokens .* Write 512"):
        resolved(tiny, f"data.tokenizer={os.fspath(folder)}")
