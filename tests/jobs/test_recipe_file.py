"""Problems of a recipe's file carry line and column, or the option they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.problems import RecipeProblems
from slipway_jobs.recipe.shipped import RECIPES_DIRECTORY
from tests.jobs.recipe_case import problems_in, problems_of, written

TINY = (RECIPES_DIRECTORY / "tiny-llama.yaml").read_text(encoding="utf-8")


def changed(folder: Path, *pairs: tuple[str, str]) -> Path:
    text = TINY
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return written(folder, text)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("steps: 20", "step: 20", "recipe.yaml:36:1: step: is not a known key. Did you mean `steps`?"),
        ("nodes: 2", "tensor_parallel_size: 2", "`parallelism` or `publish.export`."),
        ("nodes: 2", 'nodes: "2"', 'hardware.nodes: must be a whole number (got "2"). Write digits only'),
        ("nodes: 2", "nodes: 0", "recipe.yaml:18:3: hardware.nodes: is too small (got 0). Write 1 or more."),
        ("device: cpu", "device: gpu", 'must be neuron or cpu (got "gpu"). Did you mean `cpu`?'),
        (
            "architecture: llama",
            "architecture: gpt",
            'model.architecture: must be llama, mistral, qwen2, qwen3 or bert (got "gpt")',
        ),
        ("precision: float32", "precision:\n  - 1", "precision: must be bfloat16, float16, tf32 or float32"),
        (
            "architecture: llama",
            "architecture: qwen3\n  head_dimm: 8",
            "model.head_dimm: is not a known key. Did you mean",
        ),
        ("name: tiny-llama", "name: Tiny", "recipe.yaml:2:1: name: must be lower-case letters, digits"),
        ("learning_rate: 5e-3", "learning_rate: .nan", "optimizer.learning_rate: must be a finite number (got nan)"),
        ("ahead_of_time: false", "ahead_of_time: no", 'compile.ahead_of_time: must be true or false (got "no")'),
        ("batch:\n  global_size: 8\n  micro_size: 2", "batch: 3", "batch: must be a section (got 3)"),
        ("steps: 20", "steps: 20\nsteps: 30", 'not valid YAML: found duplicate key "steps"'),
        ("steps: 20", "steps: [20", "not valid YAML: "),
        ("steps: 20", "\tsteps: 20", "recipe.yaml:36:1: not valid YAML: found character '\\t'"),
        ("steps: 20", "steps: 20\n3: 4", "3: a key must be text"),
    ],
)
def test_names_line_and_column(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert any(problem in line for line in problems_in(changed(tmp_path, (old, new))))


def test_tells_all_problems_at_once(tmp_path: Path) -> None:
    file = changed(tmp_path, ("nodes: 2", "nodes: 0"), ("steps: 20", "steps: -1"), ("keep: 2", "kep: 2"))
    assert len(problems_in(file, "optimizer.beta1=2", "nonsense")) == 5


def test_overrides_are_yaml_scalars_and_the_last_one_wins(tmp_path: Path) -> None:
    file = written(tmp_path, TINY)
    recipe = load_recipe(file, ["steps=7", "optimizer.learning_rate=3e-4", "hardware.queue=null", "steps=9"])
    assert (recipe.steps, recipe.optimizer.learning_rate, recipe.hardware.queue) == (9, 3e-4, None)
    assert load_recipe(file, ["publish=null"]).publish is None
    assert load_recipe(file, ["publish.version=v1"]).publish == recipe.publish.model_copy(update={"version": "v1"})  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("steps", "--set steps: is not a key and a value."),
        ("=3", "--set =3: is not a key and a value."),
        ("steps.x=3", "--set steps.x=3: `steps` is a value, not a section."),
        ("steps=[1", "--set steps=[1: '[1' is not one plain value."),
        ("steps={a: 1}", "is not one plain value."),
        ("steps=two", '--set steps=two: must be a whole number (got "two").'),
        ("stepps=2", "--set stepps=2: is not a known key. Did you mean `steps`?"),
        ("parallelism.strategy=zero", 'must be data_parallel, tensor_parallel or fully_sharded (got "zero").'),
    ],
)
def test_problems_of_an_override_name_it(tmp_path: Path, override: str, problem: str) -> None:
    [found] = problems_in(written(tmp_path, TINY), override)
    assert problem in found


def test_arithmetic_names_the_line_of_a_value_or_the_override() -> None:
    [in_file] = problems_of("llama-2-7b", "optimizer.learning_rate=1e-5")
    assert "llama-2-7b.yaml:39:3: optimizer.minimum_learning_rate: 3e-05 is more than learning_rate 1e-05" in in_file
    [in_option] = problems_of("llama-2-7b", "optimizer.minimum_learning_rate=1e-3")
    assert in_option.startswith("--set optimizer.minimum_learning_rate=0.001: 0.001 is more than")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "1:1: the file is empty"),
        (b"- 1\n", "1:1: a recipe is a mapping of keys (got a list)"),
        (b"name: \xff\n", "1:7: the byte 0xFF is not UTF-8"),
        (b"# " + b"x" * 200_000, "is larger than 200000 bytes"),
    ],
)
def test_a_file_that_is_no_recipe(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "recipe.yaml"
    file.write_bytes(content)
    assert problem in problems_in(file)[0]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecipeProblems, match="cannot be read: No such file or directory"):
        load_recipe(tmp_path / "none.yaml")
    with pytest.raises(RecipeProblems, match="cannot be read: Is a directory"):
        load_recipe(tmp_path)
