"""What the workers of data parallelism average: gradients and the loss, always summed in the same order."""

from __future__ import annotations

import torch
import torch.distributed as dist

from slipway_training.device import Workers


def average_gradients(optimizer: torch.optim.Optimizer, workers: Workers) -> None:
    """Average the gradients of all workers.

    One sum over all of them after the last micro-batch, and not DistributedDataParallel, whose buckets depend on the
    steps since the start: a resumed run would round differently. On `xla` it is torch_xla's `reduce_gradients`, as in
    aws-neuron-samples' dp_bert_large_hf_pretrain_hdf5.py; that can only be tried on Trainium.
    """
    if workers.device.type == "xla":
        import torch_xla.core.xla_model as xm  # noqa: PLC0415

        xm.reduce_gradients(optimizer)
        return
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    together = torch.cat([gradient.reshape(-1) for gradient in gradients])
    dist.all_reduce(together)
    together /= workers.size
    parts = torch.split(together, [gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


def average_loss(loss: torch.Tensor, workers: Workers) -> torch.Tensor:
    """Return the mean of a number over all workers; it stays on the device."""
    if workers.device.type == "xla":
        import torch_xla.core.xla_model as xm  # noqa: PLC0415

        average: torch.Tensor = xm.all_reduce(xm.REDUCE_SUM, loss / workers.size)
        return average
    average = loss / workers.size
    dist.all_reduce(average)
    return average


def end_graph(device: torch.device) -> None:
    """End PyTorch/XLA's graph here: what was said so far is compiled and given to the device. Else nothing."""
    if device.type == "xla":
        import torch_xla.core.xla_model as xm  # noqa: PLC0415

        xm.mark_step()
