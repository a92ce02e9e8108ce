"""Divides a model over workers as NeuronX Distributed does, written from its code and not from the converter's.

Sources: `convert_full_state_to_tp` and `coalesce_qkv` in scripts/checkpoint_converter.py (names, cuts, the order of
query heads), `create_local_weight` in parallel_layers/layers.py, `_initialize_affine_weight` in modules/qkv_linear.py
and `arrange_kv_groups` in parallel_layers/parallel_state.py (repeated heads), `create_partitions` in
pipeline/partition.py, `_xser_save_data` in trainer/checkpoint.py (files). Checked by checkpoints of the real library
(tests/training/golden) and, where upstream's own converter is right, by running it (see test_matrix.py).
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import torch

State = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Layout:
    """How a checkpoint is divided and named."""

    tp: int = 1
    pp: int = 1
    multiplier: int = 1
    names: str = "grouped"
    order: str = "trn1"
    xser: bool = False
    ep_names: bool = False

    def __str__(self) -> str:
        form = "xser" if self.xser else "plain"
        return f"tp{self.tp}-pp{self.pp}-kv{self.multiplier}-{self.names}-{self.order}-{form}"


@dataclass(frozen=True)
class Heads:
    """A model's attention heads."""

    query: int
    key_value: int
    layers: int


def rank_state(full: Mapping[str, torch.Tensor], heads: Heads, layout: Layout, tp_rank: int, pp_rank: int) -> State:
    """Return what one worker saves."""
    state: State = {}
    cuts = list(itertools.accumulate(layers_of_stages(heads.layers, layout.pp)))
    for name, weight in full.items():
        if stage_of(name, cuts, layout.pp) != pp_rank:
            continue
        if "self_attn" in name:
            continue
        state[name] = _local(name, weight, layout.tp, tp_rank)
        if "gate_proj" in name:
            up = _local(name, full[name.replace("gate_proj", "up_proj")], layout.tp, tp_rank)
            state[name.replace("gate_proj", "gate_up_proj")] = torch.cat([state.pop(name), up])
        elif ".up_proj" in name:
            del state[name]
    for number in range(heads.layers):
        prefix = f"model.layers.{number}.self_attn."
        if stage_of(prefix, cuts, layout.pp) == pp_rank:
            state |= _attention(full, prefix, heads, layout, tp_rank)
    return state


def layers_of_stages(layers: int, stages: int) -> list[int]:
    counts = [layers // stages] * stages
    for number in range(1, layers % stages + 1):
        counts[-number] += 1
    return counts


def stage_of(name: str, cuts: list[int], stages: int) -> int:
    if "layers" in name:
        return next(stage for stage, cut in enumerate(cuts) if int(name.split(".")[2]) < cut)
    return 0 if "embed_tokens" in name else stages - 1


def _local(name: str, weight: torch.Tensor, tp: int, rank: int) -> torch.Tensor:
    if "norm" in name:
        return weight.clone()
    return weight.chunk(tp, dim=1 if "down_proj" in name else 0)[rank].clone()


def _attention(full: Mapping[str, torch.Tensor], prefix: str, heads: Heads, layout: Layout, rank: int) -> State:
    q, k, v = (full[f"{prefix}{letter}_proj.weight"] for letter in "qkv")
    out = full[f"{prefix}o_proj.weight"]
    width = q.shape[0] // heads.query
    q_local = _query_rows(q.reshape(heads.query, width, -1), heads, layout, rank)
    k_local, v_local = (_repeated(x.reshape(heads.key_value, width, -1), layout, rank) for x in (k, v))
    o_local = _query_rows(out.t().reshape(heads.query, width, -1), heads, layout, rank).t().contiguous()
    state = {f"{prefix}o_proj.weight": o_local}
    if layout.names == "grouped":
        state |= {f"{prefix}qkv_proj.weight_{a}": b for a, b in (("q", q_local), ("k", k_local), ("v", v_local))}
    elif layout.names == "separate":
        state |= {f"{prefix}{a}_proj.weight": b for a, b in (("q", q_local), ("k", k_local), ("v", v_local))}
    else:
        end = "weight_qkv" if layout.names == "grouped_fused" else "weight"
        state[f"{prefix}qkv_proj.{end}"] = torch.cat([q_local, k_local, v_local])
    if f"{prefix}q_proj.bias" in full:
        biases = [full[f"{prefix}{letter}_proj.bias"].reshape(-1, width, 1) for letter in "qkv"]
        local = [_query_rows(biases[0], heads, layout, rank), *(_repeated(bias, layout, rank) for bias in biases[1:])]
        # No example of NeuronX Distributed's has biases: the name is ours.
        state[f"{prefix}qkv_bias.bias"] = torch.cat(local).flatten()
    return state | {name: full[name].clone() for part in "qk" if (name := f"{prefix}{part}_norm.weight") in full}


def _query_rows(weight: torch.Tensor, heads: Heads, layout: Layout, rank: int) -> torch.Tensor:
    """Take a worker's query heads of a weight of shape (heads, width, other)."""
    if layout.order == "trn1":
        # Upstream: weights.reshape(-1, q_heads // (kv_heads * n), ...), then weights[arange(kv_heads) * n + i].
        groups = weight.reshape(heads.key_value, layout.multiplier, -1, *weight.shape[1:])
        weight = torch.cat([groups[:, copy] for copy in range(layout.multiplier)]).reshape(weight.shape)
    return weight.chunk(layout.tp)[rank].reshape(-1, weight.shape[-1]).clone()


def _repeated(weight: torch.Tensor, layout: Layout, rank: int) -> torch.Tensor:
    """Take a worker's key or value heads after their repetition."""
    if layout.order == "trn1":
        repeated = weight.repeat(layout.multiplier, 1, 1)
    else:
        repeated = weight.repeat_interleave(layout.multiplier, dim=0)
    return repeated.chunk(layout.tp)[rank].reshape(-1, weight.shape[-1]).clone()


class TensorReference:
    """As torch_xla's class of the name."""

    def __init__(self, tid: int) -> None:
        self.tid = tid


def save(path: Path, state: State, layout: Layout) -> None:
    """Write a worker's file as nxd.save_checkpoint does."""
    if not layout.xser:
        torch.save(state, path)
        return
    folder = Path(f"{path}.tensors")
    folder.mkdir()
    for number, tensor in enumerate(state.values()):
        torch.save(tensor, folder / f"tensor_{number}.pt")
    shapes = {
        number: {"dtype": tensor.dtype, "shape": tensor.shape, "expert_model_parallel": False}
        for number, tensor in enumerate(state.values())
    }
    torch.save(shapes, f"{path}.info.pt")
    save_references(path, {name: TensorReference(number) for number, name in enumerate(state)})


def save_references(path: Path, state: object) -> None:
    """Pickle references under the name that torch_xla's class has."""
    modules = {name: ModuleType(name) for name in ("torch_xla", "torch_xla.utils", "torch_xla.utils.serialization")}
    modules["torch_xla.utils.serialization"].__dict__["TensorReference"] = TensorReference
    with patch.dict(sys.modules, modules), patch.object(TensorReference, "__module__", "torch_xla.utils.serialization"):
        torch.save(state, path)


def file_name(layout: Layout, tp_rank: int, pp_rank: int) -> str:
    expert = "ep_rank_00_" if layout.ep_names else ""
    return f"dp_rank_00_{expert}tp_rank_{tp_rank:02d}_pp_rank_{pp_rank:02d}.pt"


def checkpoint_name(tp_rank: int, pp_rank: int) -> str:
    return file_name(Layout(), tp_rank, pp_rank)


def save_checkpoint(folder: Path, full: Mapping[str, torch.Tensor], heads: Heads, layout: Layout) -> Path:
    """Write a complete checkpoint of a model."""
    (folder / "model").mkdir(parents=True)
    for tp_rank, pp_rank in itertools.product(range(layout.tp), range(layout.pp)):
        state = rank_state(full, heads, layout, tp_rank, pp_rank)
        save(folder / "model" / file_name(layout, tp_rank, pp_rank), state, layout)
    (folder / "done").write_text("1")
    return folder
