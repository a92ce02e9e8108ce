"""What nodes send over EFA: numbers that are counted by hand, and the interfaces as EC2 describes them."""

from __future__ import annotations

import gzip
import json
import re
from importlib.resources import files

import pytest

from slipway import facts
from slipway_jobs.arithmetic.assumptions import assumptions
from tests.jobs.recipe_case import environment, estimate_of

LLAMA_3_8B, BERT_LARGE = 8_030_261_248, 336_226_108
LLAMA_3_70B_LAYER = 8192 * (2 * 8192 + 2 * 8 * 4 * 128 + 3 * 28672 + 2)
"""Its key and value heads are there four times."""


@pytest.mark.parametrize(
    ("recipe", "overrides", "sent"),
    [
        # ZeRO-1 over 4 nodes: float32 gradients are scattered, bfloat16 weights gathered.
        (
            "llama-3-8b",
            ("parallelism.kv_size_multiplier=1", "parallelism.tensor_parallel_size=8"),
            LLAMA_3_8B * 6 * 3 / 4,
        ),
        # One sum of float32 gradients over 16 nodes, scattered and gathered.
        ("bert-large-phase-1", (), BERT_LARGE * 8 * 15 / 16),
        # The last stage's layers over its 4 nodes, the larger for its output layer; and 256 micro-batches that go on
        # to the next node and come back.
        (
            "llama-3-70b",
            (),
            (10 * LLAMA_3_70B_LAYER + 128256 * 8192 + 8192) * 6 * 3 / 4 + 2 * 256 * 8192 * 8192 * 2,
        ),
        ("llama-3-8b", ("hardware.nodes=1", "batch.global_size=256"), 0),
    ],
)
def test_counts_what_a_node_sends_in_a_step(recipe: str, overrides: tuple[str, ...], sent: float) -> None:
    assert estimate_of(recipe, *overrides).sent_bytes == pytest.approx(sent)


def test_sharded_weights_are_gathered_with_each_micro_batch() -> None:
    trn2 = environment("trn2")
    numbers = estimate_of("llama-3-8b-native", "hardware.nodes=2", where=trn2)
    layer = 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336 + 2)
    rest = LLAMA_3_8B - 32 * layer
    assert numbers.sent_bytes == pytest.approx(numbers.accumulation * (32 * layer * 8 + rest * 6) / 2)


def test_the_bound_is_the_time_that_sending_takes() -> None:
    numbers = estimate_of("llama-3-70b")
    assert numbers.network_tokens_per_second == pytest.approx(1024 * 8192 / (numbers.sent_bytes / 100e9))


def test_without_efa_or_other_nodes_there_is_no_bound() -> None:
    assert estimate_of("tanuki-8b-short").network_tokens_per_second is None
    assert estimate_of("tiny-llama", where="cpu").network_tokens_per_second is None


@pytest.mark.parametrize("name", [name for name, row in facts.instance_types().items() if row.efa_interfaces])
def test_interfaces_are_as_fast_as_ec2_says(name: str) -> None:
    compressed = files("moto").joinpath("ec2/resources/instance_types.json.gz").read_bytes()
    performance = json.loads(gzip.decompress(compressed))[name]["NetworkInfo"]["NetworkPerformance"]
    match = re.fullmatch(r"(?:(\d+)x )?(\d+) Gigabit", performance)
    row = assumptions().accelerator(name)
    assert match
    assert row
    ours = row.gigabits_per_efa_interface * facts.instance_type(name).efa_interfaces
    assert ours == int(match[1] or 1) * int(match[2])
