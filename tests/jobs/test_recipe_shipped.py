"""The shipped recipes: sizes, split, and estimates against what AWS measured."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from rich.console import Console

from slipway_jobs.arithmetic.device_memory import GIB
from slipway_jobs.arithmetic.estimate_table import render
from slipway_jobs.arithmetic.model_size import model_size
from slipway_jobs.arithmetic.speed import peak_tokens_per_second
from slipway_jobs.recipe.architecture import Llama
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.shipped import shipped_recipes
from tests.assembly import PROJECT
from tests.jobs.recipe_case import environment, estimate_of, problems_of

WHERE = {
    "bert-large-phase-1": "trn1",
    "bert-large-phase-2": "trn1",
    "llama-2-7b": "trn1",
    "llama-3-8b": "trn1",
    "llama-3-70b": "trn1",
    "tanuki-8b": "trn1",
    "qwen3-8b": "trn1",
    "tanuki-8b-short": "trn1",
    "small-bert": "trn1",
    "small-llama": "trn1",
    "llama-3-8b-native": "trn2",
    "tiny-bert": "cpu",
    "tiny-llama": "cpu",
    "tiny-llama-pipeline": "cpu",
    "tiny-llama-native": "cpu",
}


def test_every_shipped_recipe_is_known_here_and_named_as_its_file() -> None:
    assert {file.stem for file in shipped_recipes()} == set(WHERE)
    assert all(load_recipe(file).name == file.stem for file in shipped_recipes())


@pytest.mark.parametrize(("recipe", "where"), WHERE.items())
def test_resolves_without_a_notice(recipe: str, where: str) -> None:
    assert problems_of(recipe, where=where) == []
    assert estimate_of(recipe, where=where).notices == ()


@pytest.mark.parametrize(
    ("recipe", "parameters"),
    # Counted on transformers' own models of the same configurations.
    [
        ("bert-large-phase-1", 336_226_108),
        ("bert-large-phase-2", 336_226_108),
        ("llama-2-7b", 6_738_415_616),
        ("llama-3-8b", 8_030_261_248),
        ("llama-3-70b", 70_553_706_496),
        ("tanuki-8b", 7_512_264_704),
        ("qwen3-8b", 8_190_735_360),
    ],
)
def test_counts_parameters_as_transformers_does(recipe: str, parameters: int) -> None:
    assert estimate_of(recipe).parameters == parameters


@pytest.mark.parametrize(
    ("model", "parameters"),
    # Counted on transformers 4.51.3's own models of the published configurations.
    [
        (("qwen2", 152064, 3584, 18944, 28, 28, 4, None), 7_615_616_512),  # Qwen/Qwen2.5-7B
        (("qwen3", 151936, 4096, 12288, 36, 32, 8, 128), 8_190_735_360),  # Qwen/Qwen3-8B
        (("mistral", 32768, 4096, 14336, 32, 32, 8, None), 7_248_023_552),  # mistralai/Mistral-7B-v0.3
        (("mistral", 131072, 5120, 14336, 40, 32, 8, 128), 12_247_782_400),  # mistralai/Mistral-Nemo-Base-2407
    ],
)
def test_counts_the_parameters_of_the_family(model: tuple[object, ...], parameters: int) -> None:
    names = list(Llama.model_fields)[: len(model)]
    fields = {**dict(zip(names, model, strict=True)), "max_position_embeddings": 4096}
    assert model_size(Llama.model_validate(fields)).total == parameters


@pytest.mark.parametrize(
    ("recipe", "nodes", "sequences_per_second"),
    # AWS's Trn1 training benchmarks, Neuron 2.24 and 2.27.
    [("llama-3-8b", 32, 47.95), ("llama-3-70b", 32, 7.94), ("bert-large-phase-1", 16, 56923.65)],
)
def test_estimates_bracket_what_aws_measured(recipe: str, nodes: int, sequences_per_second: float) -> None:
    numbers = estimate_of(recipe, f"hardware.nodes={nodes}")
    measured = sequences_per_second * numbers.placement.recipe.data.sequence_length
    assert numbers.tokens_per_second is not None
    assert numbers.tokens_per_second.low < measured < numbers.tokens_per_second.high


def test_the_documentation_compares_recipes_by_their_arithmetic() -> None:
    text = (PROJECT / "docs" / "coming-from.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+)` \| (.+) \|$", text.partition("| recipe |")[2], re.MULTILINE)

    assert len(rows) >= 6
    for recipe, said in rows:
        numbers = estimate_of(recipe, where=WHERE[recipe])
        placement, speed, memory = numbers.placement, numbers.tokens_per_second, numbers.device_memory
        assert speed is not None
        assert memory is not None
        total = memory.total
        assert said.split(" | ") == [
            f"{placement.recipe.hardware.nodes} x {placement.instance_type}",
            f"{peak_tokens_per_second(placement):,.0f}",
            f"{network:,.0f}" if (network := numbers.network_tokens_per_second) else "one node",
            f"{speed.low:,.0f}-{speed.high:,.0f}",
            f"{total.low / GIB:.1f}-{total.high / GIB:.1f} of {memory.limit / GIB:.0f}",
        ]


@pytest.mark.parametrize(("recipe", "where"), WHERE.items())
def test_query_key_and_value_are_one_matrix_where_neuronx_distributed_has_them_so(recipe: str, where: str) -> None:
    parallelism = estimate_of(recipe, where=where).placement.recipe.parallelism
    assert parallelism.fuse_qkv == (parallelism.strategy == "tensor_parallel")


def test_cost_is_hours_times_all_nodes() -> None:
    numbers = estimate_of("llama-3-8b")
    assert numbers.usd is not None
    assert numbers.hours is not None
    assert numbers.usd.low == pytest.approx(numbers.hours.low * 4 * 21.5)
    assert numbers.usd.high == pytest.approx(numbers.hours.high * 4 * 21.5)
    assert numbers.price_as_of == "2026-07-20"


def test_a_validation_loss_costs_a_third_of_a_step_for_each_batch() -> None:
    plain = estimate_of("llama-3-8b")
    steps = plain.placement.recipe.steps
    validation = (f"interval_steps={steps // 10}", "batches=30", "source=/not-here")
    measured = estimate_of("llama-3-8b", *(f"data.validation.{one}" for one in validation))
    assert plain.hours is not None
    assert measured.hours is not None
    assert plain.step_seconds is not None
    assert measured.hours.low - plain.hours.low == pytest.approx(100 * plain.step_seconds.low / 3600)
    assert measured.stop_seconds - plain.stop_seconds == pytest.approx(10 * plain.step_seconds.high)


def test_without_a_price_there_is_no_cost_but_a_time() -> None:
    numbers = estimate_of("llama-3-8b-native", where="trn2")
    assert numbers.usd is None
    assert numbers.hours is not None


def test_on_processors_nothing_is_said_of_speed() -> None:
    numbers = estimate_of("tiny-llama", where="cpu")
    assert (numbers.tokens_per_second, numbers.hours, numbers.usd, numbers.device_memory) == (None, None, None, None)
    assert numbers.tokens_per_step == 8 * 32


@pytest.mark.parametrize("asynchronous", ["true", "false"])
def test_checkpoints_are_in_the_time(asynchronous: str) -> None:
    rare, often = (
        estimate_of("llama-3-8b", f"checkpoint.interval_steps={steps}", f"checkpoint.asynchronous={asynchronous}")
        for steps in (100, 50)
    )
    assert rare.hours is not None
    assert often.hours is not None
    pause = rare.checkpoint_seconds if asynchronous == "false" else rare.pause_seconds
    assert (often.hours.low - rare.hours.low) * 3600 == pytest.approx(100 * pause.low)


def test_an_asynchronous_checkpoint_costs_its_copy_and_what_is_not_written_when_the_next_one_comes() -> None:
    beside, waiting = (estimate_of("llama-3-70b", f"checkpoint.interval_steps={steps}") for steps in (100, 5))
    assert waiting.step_seconds is not None
    # A worker of the first replica copies its weights and its share of the optimizer's states, of four.
    copied = waiting.checkpoint_bytes / 14 * (2 + 12 / 4) / (32 * 8) / 1e9
    assert (beside.pause_seconds.low, beside.pause_seconds.high) == pytest.approx((copied / 2, copied / 0.25))
    left = waiting.checkpoint_seconds.high - 5 * waiting.step_seconds.low
    assert waiting.pause_seconds.high == pytest.approx(copied / 0.25 + left)


def test_asynchronous_checkpoints_pay_for_a_large_model() -> None:
    """docs/training.md has these figures."""
    after, before = (estimate_of("llama-3-70b", f"checkpoint.asynchronous={value}") for value in ("true", "false"))
    assert before.hours is not None
    assert after.hours is not None
    saved = [1 - after.hours.low / before.hours.low, 1 - after.hours.high / before.hours.high]
    assert saved == pytest.approx([0.070, 0.061], abs=0.001)
    assert after.train_host_memory.total.high < 0.3 * after.train_host_memory.limit


def test_the_size_of_a_checkpoint() -> None:
    assert estimate_of("llama-2-7b").checkpoint_bytes == 6_738_415_616 * (2 + 12)
    assert estimate_of("llama-3-8b-native", where="trn2").checkpoint_bytes == 8_030_261_248 * 12


def test_a_node_whose_memory_nobody_knows_is_estimated_without_a_limit() -> None:
    cpu = environment("cpu")
    types = {name: row.model_copy(update={"memory_gib": None}) for name, row in cpu.instance_types.items()}
    estimated = estimate_of("tiny-llama", where=cpu.model_copy(update={"instance_types": types}))
    console = Console(width=200, record=True, file=StringIO())
    console.print(render(estimated))
    assert "of an unknown number of GiB (a node, train job)" in console.export_text()
