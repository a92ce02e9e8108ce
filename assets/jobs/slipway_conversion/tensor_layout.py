"""Where the rows or columns of each tensor lie in a checkpoint of NeuronX Distributed; used in both directions.

Names, cuts and orders follow NeuronX Distributed's Llama example and its layers (modeling_llama_nxd.py,
ColumnParallelLinear, RowParallelLinear, GQAQKVColumnParallelLinear, arrange_kv_groups).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from slipway_conversion.problems import ConversionError

Shape = tuple[int, ...]

AttentionOrder = Literal["trn1", "trn2"]
"""How repeated key and value heads lie on the workers: `trn1` all heads, then all again; `trn2` each head as often as
it is repeated, then the next."""

AttentionNames = Literal["grouped", "grouped_fused", "coalesced", "separate"]
"""`grouped`: qkv_proj.weight_q, _k, _v; `grouped_fused`: qkv_proj.weight_qkv; `coalesced`: qkv_proj.weight, without
grouped-query attention; `separate`: q_proj, k_proj, v_proj as in the transformers library."""

ATTENTION_SUFFIXES: dict[AttentionNames, tuple[str, ...]] = {
    "grouped": ("qkv_proj.weight_q", "qkv_proj.weight_k", "qkv_proj.weight_v"),
    "grouped_fused": ("qkv_proj.weight_qkv",) * 3,
    "coalesced": ("qkv_proj.weight",) * 3,
    "separate": ("q_proj.weight", "k_proj.weight", "v_proj.weight"),
}
"""Ends of the names that hold the query, key and value weights."""

_BIAS = "qkv_bias.bias"
"""End of the name that holds their biases (slipway_training.models.llama): NeuronX Distributed's example has none."""

_CUT = {"embed_tokens": 0, "lm_head": 0, "gate_proj": 0, "up_proj": 0, "down_proj": 1}
"""What of each matrix is divided evenly over the workers: 0 rows, 1 columns."""

_WHOLE = ("input_layernorm", "post_attention_layernorm", "norm", "q_norm", "k_norm")
"""Modules whose weight each worker has."""


@dataclass(frozen=True)
class Split:
    """How a Llama is divided over workers."""

    query_heads: int
    """Query heads of the model."""

    key_value_heads: int
    """Key and value heads of the model."""

    head_size: int
    """Width of a head."""

    tensor_parallel_size: int
    """Workers that share each layer."""

    kv_size_multiplier: int
    """How often each key and value head is repeated."""

    attention_order: AttentionOrder
    """Order of repeated heads."""

    attention_names: AttentionNames
    """Names of the query, key and value weights."""

    gate_up_fused: bool
    """Whether gate_proj and up_proj are one matrix, gate_up_proj."""

    def slots(self) -> Iterator[tuple[int, int, int]]:
        """Yield for each place of a key and value head over all workers: worker, head, which repetition of it."""
        places = self.key_value_heads * self.kv_size_multiplier
        for place in range(places):
            rank = place * self.tensor_parallel_size // places
            if self.attention_order == "trn1":
                yield rank, place % self.key_value_heads, place // self.key_value_heads
            else:
                yield rank, place // self.kv_size_multiplier, place % self.kv_size_multiplier


@dataclass(frozen=True)
class Block:
    """Rows (or columns) of a tensor that lie together on one worker."""

    rank: int
    """Worker of the tensor-parallel group."""

    name: str
    """Name of the worker's tensor that holds them."""

    begin: int
    """The first one's number in the whole tensor."""

    begin_on_rank: int
    """Its number in the worker's tensor."""

    length: int
    """How many there are."""


@dataclass(frozen=True)
class TensorLayout:
    """Where one tensor of the transformers library lies."""

    name: str
    """Its name there."""

    shape: Shape
    """Its shape there."""

    dimension: int
    """What is cut: 0 rows, 1 columns."""

    blocks: tuple[Block, ...]
    """Its parts; two with the same `begin` are copies of each other."""


def check_split(split: Split, shapes: Mapping[str, Shape]) -> None:
    """Refuse a split that heads or matrices do not divide into.

    Raises:
        ConversionError: with the numbers.
    """
    ranks, multiplier = split.tensor_parallel_size, split.kv_size_multiplier
    places = split.key_value_heads * multiplier
    problems = []
    if split.attention_names in ("coalesced", "separate") and multiplier > 1:
        problems.append(f"{ATTENTION_SUFFIXES[split.attention_names][0]} cannot repeat heads; kv_size_multiplier is 1")
    if split.attention_names == "coalesced" and split.query_heads != split.key_value_heads:
        problems.append("qkv_proj.weight is for as many key as query heads; with fewer it is qkv_proj.weight_qkv")
    if ranks % multiplier:
        problems.append(f"kv_size_multiplier {multiplier} does not divide {ranks} tensor-parallel workers")
    if places % ranks:
        problems.append(
            f"{split.key_value_heads} key and value heads times kv_size_multiplier {multiplier} is {places}, which "
            f"{ranks} tensor-parallel workers do not divide"
        )
    if split.query_heads % places or split.query_heads % ranks:
        problems.append(f"{split.query_heads} query heads do not divide over {places} key and value heads")
    for name, shape in shapes.items():
        if (cut := _CUT.get(_module(name))) is not None and shape[cut] % ranks:
            problems.append(f"{name}: {shape[cut]} does not divide over {ranks} tensor-parallel workers")
    if problems:
        raise ConversionError(*dict.fromkeys(problems))


def llama_layouts(shapes: Mapping[str, Shape], split: Split) -> list[TensorLayout]:
    """Return where each tensor of a Llama lies, in the order of `shapes`.

    Args:
        shapes: all tensors of the transformers library's model.
        split: how it is divided.

    Raises:
        ConversionError: it does not divide so, or the model has tensors that the Llama of NeuronX Distributed has not.
    """
    check_split(split, shapes)
    layouts = [_llama_layout(name, shape, split) for name, shape in shapes.items()]
    if strange := [name for name, layout in zip(shapes, layouts, strict=True) if layout is None]:
        raise ConversionError(f"the configuration asks for tensors that have no place in a checkpoint: {strange}")
    return [layout for layout in layouts if layout is not None]


def _module(name: str) -> str:
    """Return the module that a weight belongs to; empty for a bias."""
    return name.split(".")[-2] if name.endswith(".weight") else ""


def _llama_layout(name: str, shape: Shape, split: Split) -> TensorLayout | None:
    """Return where a tensor lies; none for an unknown one."""
    module, ranks = _module(name), split.tensor_parallel_size
    if name.endswith(tuple(f"self_attn.{part}_proj.bias" for part in "qkv")):
        prefix, _, part = name.rpartition("_proj.bias")[0].rpartition(".")
        return TensorLayout(name, shape, 0, _head_blocks(f"{prefix}.{_BIAS}", "qkv".index(part), split, fused=True))
    if module in ("q_proj", "k_proj", "v_proj"):
        number = "qkv".index(module[0])
        held_in = name[: -len(f"{module}.weight")] + ATTENTION_SUFFIXES[split.attention_names][number]
        fused = split.attention_names in ("grouped_fused", "coalesced")
        return TensorLayout(name, shape, 0, _head_blocks(held_in, number, split, fused=fused))
    if module == "o_proj":
        return TensorLayout(name, shape, 1, _query_blocks(name, 0, split))
    if module in _CUT:
        fused = split.gate_up_fused and module in ("gate_proj", "up_proj")
        held_in = name.replace(f".{module}.", ".gate_up_proj.") if fused else name
        offset = shape[0] // ranks if fused and module == "up_proj" else 0
        cut = _CUT[module]
        return TensorLayout(name, shape, cut, _even_blocks(held_in, shape[cut], offset, ranks))
    return replicated(name, shape, ranks) if module in _WHOLE else None


def replicated(name: str, shape: Shape, ranks: int) -> TensorLayout:
    """Return the layout of a tensor that each worker has whole."""
    rows = shape[0] if shape else 1
    return TensorLayout(name, shape, 0, tuple(Block(rank, name, 0, 0, rows) for rank in range(ranks)))


def _even_blocks(name: str, length: int, offset: int, ranks: int) -> tuple[Block, ...]:
    part = length // ranks
    return tuple(Block(rank, name, rank * part, offset, part) for rank in range(ranks))


def _head_blocks(name: str, number: int, split: Split, *, fused: bool) -> tuple[Block, ...]:
    """Return where the query (0), key (1) or value (2) heads lie; fused, a worker has all three after each other."""
    ranks, size = split.tensor_parallel_size, split.head_size
    keys = split.key_value_heads * split.kv_size_multiplier * size // ranks
    offset = (0, split.query_heads * size // ranks, split.query_heads * size // ranks + keys)[number] if fused else 0
    if number == 0:
        return _query_blocks(name, offset, split)
    return tuple(
        Block(rank, name, head * size, offset + place * size % keys, size)
        for place, (rank, head, _) in enumerate(split.slots())
    )


def _query_blocks(name: str, offset: int, split: Split) -> tuple[Block, ...]:
    """Return where the query heads lie: those of a key and value head are shared out among its repetitions."""
    places = split.key_value_heads * split.kv_size_multiplier
    length = split.query_heads // places * split.head_size
    on_rank = split.query_heads * split.head_size // split.tensor_parallel_size
    return tuple(
        Block(rank, name, (head * split.kv_size_multiplier + copy) * length, offset + place * length % on_rank, length)
        for place, (rank, head, copy) in enumerate(split.slots())
    )
