"""Which decoder layers a pipeline stage holds. The converter reads it too: nothing of PyTorch here."""

from __future__ import annotations

from itertools import pairwise


def stage_layers(layers: int, stages: int) -> tuple[range, ...]:
    """Divide the layers as NeuronX Distributed does: evenly, and what is left over goes to the last stages.

    Source: `create_partitions` in neuronx_distributed/pipeline/partition.py.

    Raises:
        ValueError: there are fewer layers than stages.
    """
    if layers < stages:
        raise ValueError(f"{layers} layers cannot be divided into {stages} pipeline stages")
    each, more = divmod(layers, stages)
    first_longer = stages - more
    starts = [stage * each + max(stage - first_longer, 0) for stage in range(stages + 1)]
    return tuple(range(start, end) for start, end in pairwise(starts))
