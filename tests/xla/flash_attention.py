"""Compares the attention that calls Neuron's kernel with the plain one, and prints the differences as a line of JSON.

NeuronX Distributed's own code runs in between; only the kernel is a stand-in. It has the kernel's layouts (nki-samples
0898a771, src/nki_samples/reference/attention.py, lines 294-299 and 538-548), and refuses others.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import neuronx_distributed.kernels.flash_attn as upstream
import torch
from torch import Tensor, nn

from slipway_jobs.recipe.architecture import Llama
from slipway_training.models.attention import Attention, CoreAttention
from slipway_training.models.llama_initialization import HeadOrder
from slipway_training.strategies.tensor_parallel.neuron_layers import FLASH_ATTENTION_TOKENS, FlashAttention

MODEL = Llama(
    architecture="llama",
    vocab_size=8,
    hidden_size=16,
    intermediate_size=8,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=FLASH_ATTENTION_TOKENS,
)
BATCH, HEADS, SIZE = 1, 4, 4
HEADS_LAYOUT = (BATCH, HEADS, SIZE, FLASH_ATTENTION_TOKENS)
"""Of queries, keys, values and all that the backward kernel takes."""


class Kernel:
    """The two kernels: they are launched for a grid of samples and heads."""

    def __init__(self, compute: Any) -> None:
        self.compute = compute

    def __getitem__(self, grid: tuple[int, int]) -> Any:
        assert grid == (BATCH, HEADS)
        return self.compute


mixed: list[bool] = []


def attended(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Compute what the kernels do, by the plain attention: heads are (…, size, sequence)."""
    result: Tensor = CoreAttention()(query.transpose(-1, -2), key.transpose(-1, -2), value.transpose(-1, -2))
    return result


def forward(query: Tensor, key: Tensor, value: Tensor, seed: None, **options: Any) -> tuple[Tensor, Tensor]:
    assert options["config"].should_transpose_v
    assert options["use_causal_mask"]
    assert seed is None
    assert {tuple(part.shape) for part in (query, key, value)} == {HEADS_LAYOUT}
    assert options["softmax_scale"] == SIZE**-0.5
    mixed.append(options["mixed_precision"])
    return attended(query, key, value), torch.zeros(())


def backward(*tensors: Any, **options: Any) -> tuple[Tensor, ...]:
    query, key, value, output, gradient = tensors[:5]
    assert {tuple(part.shape) for part in (query, key, value, output, gradient)} == {HEADS_LAYOUT}
    mixed.append(options["mixed_precision"])
    with torch.enable_grad():
        inputs = [part.detach().requires_grad_() for part in (query, key, value)]
        result = attended(*inputs)
    return torch.autograd.grad(result, inputs, gradient.transpose(-1, -2))


class Layers:
    """One worker's layers (models.parallel_layers.ParallelLayers), as far as attention asks for them."""

    tensor_parallel_size, heads = 1, HeadOrder("trn1", MODEL.num_key_value_heads, 1)

    def __init__(self, core: nn.Module, precision: torch.dtype, *, transposed_heads: bool) -> None:
        self.core, self.precision, self.transposed_heads = core, precision, transposed_heads

    def core_attention(self) -> nn.Module:
        return self.core

    def query_key_value(self, inputs: int, query: int, key_value: int, *_arguments: Any) -> nn.Module:
        return _QueryKeyValue(nn.Linear(inputs, query + 2 * key_value, False, dtype=self.precision), query, key_value)

    def row(self, inputs: int, outputs: int, *_arguments: Any) -> nn.Module:
        return nn.Linear(inputs, outputs, False, dtype=self.precision)


class _QueryKeyValue(nn.Module):
    def __init__(self, all_three: nn.Module, query: int, key_value: int) -> None:
        super().__init__()
        self.all_three, self.sizes = all_three, [query, key_value, key_value]

    def forward(self, states: Tensor) -> tuple[Tensor, ...]:
        return torch.split(self.all_three(states), self.sizes, dim=-1)


def results(core: nn.Module, precision: torch.dtype, *, transposed_heads: bool) -> list[Tensor]:
    """Return the output of attention, and the gradients of its weights and inputs."""
    torch.manual_seed(3)
    layers: Any = Layers(core, precision, transposed_heads=transposed_heads)
    attention = Attention(MODEL, layers, "attention", seed=1)
    states = torch.randn(FLASH_ATTENTION_TOKENS, BATCH, MODEL.hidden_size, dtype=precision, requires_grad=True)
    output = attention(states)
    output.square().sum().backward()
    gradients = [weight.grad for weight in (states, *attention.parameters()) if weight.grad is not None]
    return [output.detach(), *gradients]


def main() -> dict[str, Any]:
    """Compare, in both types that are trained with."""
    upstream.FlashConfig = SimpleNamespace
    upstream.get_flash_attn_kernels = lambda _use_sharded=False: (Kernel(forward), Kernel(backward), None)
    found: dict[str, Any] = {}
    for precision in (torch.float32, torch.bfloat16):
        mixed.clear()
        plain = results(CoreAttention(), precision, transposed_heads=False)
        flash = results(FlashAttention(), precision, transposed_heads=True)
        found[str(precision)] = {
            "differences": [
                float((ours - theirs).float().abs().max() / theirs.float().abs().max())
                for ours, theirs in zip(flash, plain, strict=True)
            ],
            "mixed_precision": mixed.copy(),
        }
    return found


if __name__ == "__main__":
    print("\n" + json.dumps(main()))
