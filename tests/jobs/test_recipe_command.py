"""`slipway-job check` and `slipway-job recipes`."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from slipway_jobs.check.command import check, recipes
from tests.jobs.recipe_case import ENVIRONMENTS

app = typer.Typer()
app.command()(check)
app.command()(recipes)


def called(*arguments: str, where: str = "trn1") -> Result:
    environment = {"SLIPWAY_ENVIRONMENT": str(ENVIRONMENTS / f"{where}.json"), "COLUMNS": "200"}
    return CliRunner().invoke(app, arguments, env=environment)


def test_check_shows_split_memory_time_and_cost() -> None:
    result = called("check", "llama-3-8b")
    assert result.exit_code == 0
    for part in (
        "TP 32 x PP 1 x DP 4 = 128 workers",
        "4 replicas x 1 x 256 micro-batches = 1024 samples x 8192 = 8,388,608 tokens a step",
        "4.7-7.2 of 16 GiB",
        "253.0-657.8 h",
        "21,754-56,569 USD",
        "Ranges are estimates.",
    ):
        assert part in result.stdout


def test_check_says_no_price_and_never_zero() -> None:
    result = called("check", "llama-3-8b-native", where="trn2")
    assert "no price" in result.stdout
    assert "USD" not in result.stdout


def test_check_shows_notices() -> None:
    result = called("check", "llama-2-7b", "--set", "hardware.workers_per_node=16")
    assert result.exit_code == 0
    assert "Notice: hardware.workers_per_node: 16 workers on 32 logical NeuronCores" in result.stdout


def test_check_tells_problems_without_traceback() -> None:
    result = called("check", "llama-3-8b", "--set", "parallelism.tensor_parallel_size=7", "--set", "steps=0")
    assert result.exit_code == 1
    assert "--set steps=0: is too small (got 0). Write 1 or more." in result.stderr
    assert "Traceback" not in result.output


def test_check_takes_a_file(tmp_path: Path) -> None:
    result = called("check", str(tmp_path / "none.yaml"))
    assert result.exit_code == 1
    assert "none.yaml: cannot be read: No such file or directory" in result.stderr


def test_recipes_lists_all_with_time_and_cost() -> None:
    result = called("recipes")
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert all(part in lines["llama-3-70b"] for part in ("32 x trn1.32xlarge", "TP32 PP8", " h ", "USD"))
    assert "not here" in lines["llama-3-8b-native"]
    assert "no estimate" in lines["tiny-llama"]


def test_recipes_begins_with_those_for_trainium_that_fit() -> None:
    names = [line.split()[0] for line in called("recipes").stdout.splitlines()[1:]]
    real = ["bert-large-phase-1", "bert-large-phase-2", "llama-2-7b", "llama-3-70b", "llama-3-8b", "qwen3-8b"]
    short = ["small-bert", "small-llama", "tanuki-8b-short"]
    on_processors = ["tiny-bert", "tiny-llama-pipeline", "tiny-llama"]
    assert names == [*real, *short, "tanuki-8b", *on_processors, "llama-3-8b-native", "tiny-llama-native"]


@pytest.mark.parametrize(("content", "part"), [(None, "cannot be read"), ("{}", "is not an environment's file")])
def test_without_an_environment_it_says_what_to_do(tmp_path: Path, content: str | None, part: str) -> None:
    file = tmp_path / "environment.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    result = CliRunner().invoke(app, ["recipes"], env={"SLIPWAY_ENVIRONMENT": str(file)})
    assert result.exit_code == 1
    assert part in result.stderr
    assert "Traceback" not in result.output
