"""For any split: accepted ones keep the identities, and memory falls with TP and grows with the micro-batch."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_jobs.arithmetic.checks import check
from slipway_jobs.arithmetic.device_memory import device_memory
from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.arithmetic.split import accumulation, data_parallel_size
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.shipped import RECIPES_DIRECTORY
from tests.jobs.recipe_case import environment

LLAMA = load_recipe(RECIPES_DIRECTORY / "llama-3-8b.yaml")
TRN1 = environment("trn1")

SPLITS = st.fixed_dictionaries(
    {
        "tensor_parallel_size": st.sampled_from([1, 2, 3, 4, 8, 12, 16, 32, 64]),
        "pipeline_parallel_size": st.integers(1, 9),
        "kv_size_multiplier": st.integers(1, 8),
        "activation_checkpointing": st.sampled_from(["none", "selective", "selective_mlp", "full"]),
    }
)


def recipe_of(split: dict[str, object], nodes: int, global_size: int, micro_size: int, length: int) -> Recipe:
    return LLAMA.model_copy(
        update={
            "parallelism": LLAMA.parallelism.model_copy(update=split),
            "hardware": LLAMA.hardware.model_copy(update={"nodes": nodes}),
            "batch": LLAMA.batch.model_copy(update={"global_size": global_size, "micro_size": micro_size}),
            "data": LLAMA.data.model_copy(update={"sequence_length": length}),
        }
    )


RECIPES = st.builds(
    recipe_of,
    split=SPLITS,
    nodes=st.integers(1, 70),
    global_size=st.integers(1, 32).map(lambda n: n * 32),
    micro_size=st.sampled_from([1, 2, 3, 4]),
    length=st.sampled_from([1024, 2048, 4096, 4100, 8192, 16384]),
)


@st.composite
def sound_recipes(draw: st.DrawFn) -> Recipe:
    """Draw recipes that keep all identities."""
    tp, pp = draw(st.sampled_from([4, 8, 16, 32])), draw(st.sampled_from([1, 2, 4, 8]))
    nodes = draw(st.integers(1, 4)) * max(1, tp * pp // 32)
    micro_size = draw(st.sampled_from([1, 2, 4]))
    replicas = nodes * 32 // (tp * pp)
    split = {
        "tensor_parallel_size": tp,
        "pipeline_parallel_size": pp,
        "kv_size_multiplier": max(1, tp // 8),
        "activation_checkpointing": draw(st.sampled_from(["none", "selective", "selective_mlp", "full"])),
    }
    global_size = replicas * micro_size * draw(st.integers(pp, 64))
    return recipe_of(split, nodes, global_size, micro_size, draw(st.sampled_from([512, 2048, 4096, 8192])))


@settings(max_examples=200)
@given(recipe=sound_recipes())
def test_a_sound_split_is_refused_for_its_memory_alone(recipe: Recipe) -> None:
    placement, findings = check(recipe, TRN1)
    assert placement is not None
    assert all("of device memory" in finding.message for finding in findings)
    assert bool(findings) == (device_memory(placement).total.low > 16 * 1024**3)


@settings(max_examples=200)
@given(recipe=RECIPES | sound_recipes())
def test_an_accepted_split_keeps_the_identities_and_fits(recipe: Recipe) -> None:
    placement, findings = check(recipe, TRN1)
    if findings or placement is None:
        assert all(finding.message and finding.fix for finding in findings)
        return
    parallelism, batch, model = recipe.parallelism, recipe.batch, recipe.model
    tp, pp = parallelism.tensor_parallel_size, parallelism.pipeline_parallel_size
    dp = data_parallel_size(placement)
    assert tp * pp * dp == recipe.hardware.nodes * 32 <= 64 * 32
    assert dp * batch.micro_size * accumulation(placement) == batch.global_size
    assert accumulation(placement) >= pp
    assert model.num_attention_heads % tp == model.vocab_size % tp == recipe.data.sequence_length % tp == 0
    assert model.num_key_value_heads * parallelism.kv_size_multiplier % tp == 0  # type: ignore[union-attr]
    assert device_memory(placement).total.low <= 16 * 1024**3


@settings(max_examples=200)
@given(recipe=RECIPES)
def test_memory_falls_with_tensor_parallelism_and_grows_with_the_micro_batch(recipe: Recipe) -> None:
    placement = Placement(recipe, TRN1, TRN1.queues[1], TRN1.queues[0], "trn1.32xlarge", "xla-2.28")
    memory = device_memory(placement).total
    assert 0 < memory.low <= memory.high
    stages = recipe.parallelism.pipeline_parallel_size
    if accumulation(placement) < stages:
        return  # refused: the pipeline is not full
    # With more workers for a replica there are fewer replicas: ZeRO-1's share stays as it is, the rest halves.
    wider = _with(placement, "parallelism", "tensor_parallel_size", recipe.parallelism.tensor_parallel_size * 2)
    if data_parallel_size(placement) % 2 == 0:
        assert device_memory(wider).total.low < memory.low
        assert device_memory(wider).total.high < memory.high
    larger = _with(placement, "batch", "micro_size", recipe.batch.micro_size * 2)
    if accumulation(placement) >= 2 * stages:
        assert device_memory(larger).total.low > memory.low
        assert device_memory(larger).total.high > memory.high


def _with(placement: Placement, section: str, name: str, value: int) -> Placement:
    changed = getattr(placement.recipe, section).model_copy(update={name: value})
    return replace(placement, recipe=placement.recipe.model_copy(update={section: changed}))
