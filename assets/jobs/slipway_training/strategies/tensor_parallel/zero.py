"""AdamW whose states are divided over the replicas (ZeRO-1), for training on processors."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from slipway_jobs.recipe.model import Optimizer
from slipway_training.strategies.tensor_parallel.gloo_groups import Group, Groups, gather
from slipway_training.strategies.tensor_parallel.replicas import is_partial, squared_norm
from slipway_training.strategies.tensor_parallel.weight_decay import decays


class _FlatShare:
    """Weights one after another as float32 numbers, of which this replica keeps and updates its share."""

    def __init__(self, parameters: list[nn.Parameter], decay: float, settings: Optimizer, data: Group) -> None:
        self.parameters, self.data = parameters, data
        self.sizes = [parameter.numel() for parameter in parameters]
        self.padding = -sum(self.sizes) % data.size
        self.weights = nn.Parameter(self.share(self._flat([parameter.detach() for parameter in parameters])))
        betas = (settings.beta1, settings.beta2)
        self.adamw = torch.optim.AdamW([self.weights], betas=betas, eps=settings.epsilon, weight_decay=decay)

    def _flat(self, tensors: list[Tensor]) -> Tensor:
        padding = torch.zeros(self.padding)
        return torch.cat([*(tensor.float().flatten() for tensor in tensors), padding])

    def share(self, flat: Tensor) -> Tensor:
        return flat.chunk(self.data.size)[self.data.rank].clone()

    def reduce_gradients(self, groups: Groups) -> tuple[Tensor, Tensor]:
        """Average the gradients over the replicas; return them, and this worker's share of their squared norm."""
        gradients = [_gradient(parameter) for parameter in self.parameters]
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if is_partial(parameter):
                dist.all_reduce(gradient, group=groups.tensor.workers)
        flat = self._flat(gradients)
        dist.all_reduce(flat, group=self.data.workers)
        flat /= self.data.size
        views = [view.view_as(parameter) for view, parameter in zip(self._split(flat), self.parameters, strict=True)]
        norms = [squared_norm(parameter, view) for parameter, view in zip(self.parameters, views, strict=True)]
        return flat, torch.stack(norms).sum()

    def update(self, gradient: Tensor, learning_rate: float) -> None:
        """Update this replica's share, and take the others'."""
        self.weights.grad = self.share(gradient)
        for group in self.adamw.param_groups:
            group["lr"] = learning_rate
        self.adamw.step()
        self.weights.grad = None
        whole = gather(self.weights.detach(), self.data)
        with torch.no_grad():
            for parameter, values in zip(self.parameters, self._split(whole), strict=True):
                parameter.copy_(values.view_as(parameter))
                parameter.grad = None

    def _split(self, flat: Tensor) -> list[Tensor]:
        return list(torch.split(flat[: sum(self.sizes)], self.sizes))

    def state_dict(self) -> dict[str, Any]:
        return {"weights": self.weights.detach(), "adamw": self.adamw.state_dict()["state"]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["weights"].shape != self.weights.shape:
            raise ValueError(f"the optimizer file holds {len(state['weights'])} weights, not {len(self.weights)}")
        with torch.no_grad():
            self.weights.copy_(state["weights"])
        self.adamw.load_state_dict({**self.adamw.state_dict(), "state": state["adamw"]})


class ZeroAdamW:
    """AdamW with float32 master weights and states, divided over the replicas.

    Gradients are averaged over the replicas and clipped by the norm over the whole model, in which weights that several
    workers hold count once.
    """

    def __init__(self, named: list[tuple[str, nn.Parameter]], settings: Optimizer, groups: Groups) -> None:
        self.groups, self.clipping = groups, settings.gradient_clipping
        plain = [parameter for name, parameter in named if not decays(name)]
        decayed = [parameter for name, parameter in named if decays(name)]
        sets = ((decayed, settings.weight_decay), (plain, 0.0))
        self.shares = [_FlatShare(parameters, decay, settings, groups.data) for parameters, decay in sets if parameters]

    def step(self, learning_rate: float) -> Tensor:
        """Update the weights from their gradients, drop these, and return their norm before it was clipped."""
        reduced = [share.reduce_gradients(self.groups) for share in self.shares]
        squared = torch.stack([norm for _, norm in reduced]).sum()
        for group in (self.groups.tensor, self.groups.pipeline):
            dist.all_reduce(squared, group=group.workers)
        # As torch.nn.utils.clip_grad_norm_ does it.
        norm = squared.sqrt()
        factor = (self.clipping / (norm + 1e-6)).clamp(max=1.0)
        for share, (gradient, _) in zip(self.shares, reduced, strict=True):
            share.update(gradient * factor, learning_rate)
        return norm

    def state_dict(self) -> dict[str, Any]:
        """Return this worker's share of the state."""
        return {"slipway_zero": [share.state_dict() for share in self.shares]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take a share that was saved with the same split.

        Raises:
            ValueError: it is of another device, model or split.
        """
        if "slipway_zero" not in state or len(state["slipway_zero"]) != len(self.shares):
            raise ValueError("the optimizer file was not written by training on processors with this split")
        for share, saved in zip(self.shares, state["slipway_zero"], strict=True):
            share.load_state_dict(saved)


def _gradient(parameter: nn.Parameter) -> Tensor:
    return torch.zeros_like(parameter, dtype=torch.float32) if parameter.grad is None else parameter.grad.float()
