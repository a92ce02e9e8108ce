"""Which modules forget what they computed, and compute it again in the backward pass."""

from __future__ import annotations

from torch import nn

from slipway_jobs.recipe.model import Parallelism
from slipway_training.models.attention import CoreAttention
from slipway_training.models.llama import DecoderLayer, FeedForward


def recomputed_classes(parallelism: Parallelism) -> tuple[type[nn.Module], ...]:
    """Return the classes of the modules.

    NeuronX Distributed's example computes attention and MLP again at 8,192 tokens, where its flash attention keeps no
    scores (v2.28.0, examples/training/llama/tp_pp_llama_hf_pretrain/run_llama_nxd.py, line 122).
    """
    if parallelism.activation_checkpointing == "full":
        return (DecoderLayer,)
    attention = (CoreAttention,) if parallelism.recomputes("attention") else ()
    return (*attention, FeedForward) if parallelism.recomputes("mlp") else attention
