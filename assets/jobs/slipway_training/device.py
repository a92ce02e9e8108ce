"""The processes that train together: who they are, which device each has, and how they agree on something."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b

import torch
import torch.distributed as dist

from slipway_jobs.recipe.model import Hardware

AGREEMENT_TIMEOUT = timedelta(hours=3)
"""How long a worker waits for the others: longer than the slowest one compiles its graphs or writes its checkpoint.
One that has ended is noticed at once, by its closed connection."""


@dataclass(frozen=True)
class Workers:
    """This process and its place among the others."""

    rank: int
    """Its number, from 0."""

    local_rank: int
    """Its number on its node."""

    size: int
    """Number of workers."""

    device: torch.device
    """Where its tensors live."""

    control: dist.ProcessGroup
    """All workers, over gloo: for what hosts agree on without waiting for their devices."""

    def barrier(self) -> None:
        """Wait for all workers."""
        dist.barrier(group=self.control)

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Return for each flag whether it is set on any worker: the same answer on all of them."""
        values = torch.tensor(flags, dtype=torch.uint8)
        dist.all_reduce(values, op=dist.ReduceOp.MAX, group=self.control)
        return tuple(bool(value) for value in values.tolist())

    def seed(self, *parts: int) -> None:
        """Start this worker's random numbers (dropout) anew, from numbers such as the seed, the step and the rank.

        A step then has the same ones after a resume as without. torch_xla keeps a state of its own.
        """
        value = int.from_bytes(blake2b(repr(parts).encode(), digest_size=4).digest(), "big")
        torch.manual_seed(value)
        if self.device.type == "xla":
            import torch_xla.core.xla_model as xm  # noqa: PLC0415

            xm.set_rng_state(value)


def join(hardware: Hardware) -> Workers:
    """Meet the other workers that torchrun has started, and take a device.

    `cpu` computes and communicates on the host (gloo). `neuron` takes one NeuronCore: with framework `xla` through
    torch_xla (process group `xla`, as in aws-neuron-samples' dp_bert_large_hf_pretrain_hdf5.py and in NeuronX
    Distributed's examples), with `native` through torch_neuronx (device and process group `neuron`, as in the Neuron
    documentation's "How to use torch.distributed on Neuron"). The two can only be tried on Trainium.
    """
    device = _start(hardware)
    control = dist.new_group(backend="gloo", timeout=AGREEMENT_TIMEOUT)
    assert isinstance(control, dist.ProcessGroup)
    return Workers(
        rank=dist.get_rank(),
        local_rank=int(os.environ["LOCAL_RANK"]),
        size=dist.get_world_size(),
        device=device,
        control=control,
    )


def leave() -> None:
    """End the meeting; call it only where all workers do. On `xla` the process just ends, as upstream's scripts do."""
    if dist.get_backend() != "xla":
        dist.destroy_process_group()


def _start(hardware: Hardware) -> torch.device:
    if hardware.device == "cpu":
        dist.init_process_group("gloo", timeout=AGREEMENT_TIMEOUT)
        return torch.device("cpu")
    if hardware.framework == "xla":
        import torch_xla.core.xla_model as xm  # noqa: PLC0415  only where Neuron is
        import torch_xla.distributed.xla_backend  # noqa: F401, PLC0415  registers the backend

        # No init_method="xla://": below torchrun its own rendezvous (env://) gives the ranks, as in upstream's scripts.
        dist.init_process_group("xla", timeout=AGREEMENT_TIMEOUT)
        device: torch.device = xm.xla_device()
        return device
    import torch_neuronx  # noqa: F401, PLC0415  registers the device and the backend

    dist.init_process_group("neuron", timeout=AGREEMENT_TIMEOUT)
    return torch.device("neuron")
