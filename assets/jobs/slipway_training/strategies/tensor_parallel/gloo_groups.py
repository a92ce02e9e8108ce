"""Who works with whom when a model is divided over processors: the same arrangement as NeuronX Distributed's."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from slipway_jobs.recipe.attention_order import AttentionOrder
from slipway_jobs.recipe.model import Parallelism


@dataclass(frozen=True)
class Group:
    """The workers that share something, and this worker's place among them."""

    workers: dist.ProcessGroup
    """The process group."""

    rank: int
    """This worker's number in it."""

    size: int
    """Number of workers in it."""


@dataclass(frozen=True)
class Groups:
    """This worker's groups."""

    tensor: Group
    """Workers that share each layer."""

    data: Group
    """Workers that hold the same part of different replicas."""

    pipeline: Group
    """Workers that hold the same share of different stages."""

    key_value: Group
    """Workers of the tensor-parallel group that hold the same key and value heads."""


def gather(part: torch.Tensor, group: Group) -> torch.Tensor:
    """Return the parts of all workers, one after another along the first dimension."""
    parts = [torch.empty(part.shape, dtype=part.dtype) for _ in range(group.size)]
    dist.all_gather(parts, part.contiguous(), group=group.workers)
    return torch.cat(parts)


def make_groups(parallelism: Parallelism, order: AttentionOrder) -> Groups:
    """Make all groups: neighbouring workers share layers, then come replicas, then stages.

    Source: `initialize_model_parallel` and `initialize_kv_group` in
    neuronx_distributed/parallel_layers/parallel_state.py.
    """
    tensor, stages = parallelism.tensor_parallel_size, parallelism.pipeline_parallel_size
    replicas = dist.get_world_size() // (tensor * stages)
    mesh = init_device_mesh("cpu", (stages, replicas, tensor), mesh_dim_names=("pipeline", "data", "tensor"))
    repeats = parallelism.kv_size_multiplier
    neighbours = torch.arange(dist.get_world_size()).view(-1, tensor)
    # With trn1 the heads follow each other and then begin anew; with trn2 the repeats of one head are neighbours.
    repeated = neighbours.view(-1, repeats, tensor // repeats).mT if order == "trn1" else neighbours
    ranks = repeated.reshape(-1, repeats).tolist()
    same_heads, _ = dist.new_subgroups_by_enumeration(ranks)  # type: ignore[no-untyped-call]
    assert same_heads is not None
    return Groups(
        tensor=_group(mesh.get_group("tensor")),
        data=_group(mesh.get_group("data")),
        pipeline=_group(mesh.get_group("pipeline")),
        key_value=_group(same_heads),
    )


def _group(workers: dist.ProcessGroup) -> Group:
    return Group(workers, workers.rank(), workers.size())
