"""LAMB: Adam's update of each weight matrix, scaled by the matrix's own norm, for large batches of BERT."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch


class Lamb(torch.optim.Optimizer):
    """LAMB (You et al., "Large Batch Optimization for Deep Learning", 2020, algorithm 2).

    Like the optimizer of aws-neuron-samples' dp_bert_hf_pretrain, which its learning rate of 6e-3 is for: the trust
    ratio (norm of the weights by norm of the update) is at most 1, and parameters without weight decay (biases, norms)
    have none. Gradients are clipped by the caller. Nothing that changes from step to step is a Python number: each
    would become part of PyTorch/XLA's graph, which is compiled again for another.
    """

    def __init__(
        self,
        params: Iterable[dict[str, Any]],
        lr: float | torch.Tensor,
        betas: tuple[float, float],
        eps: float,
    ) -> None:
        """Take groups of parameters, each with its `weight_decay`."""
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Change the weights by one step; there is no closure."""
        assert closure is None
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._step_parameter(parameter, group)

    def _step_parameter(self, parameter: torch.Tensor, group: dict[str, Any]) -> None:
        state, gradient = self.state[parameter], parameter.grad
        assert gradient is not None
        if not state:
            # Not called `step`, which Optimizer.load_state_dict would leave on the host.
            state["steps_taken"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        (beta1, beta2), mean, square = group["betas"], state["exp_avg"], state["exp_avg_sq"]
        state["steps_taken"] += 1
        mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        unbiased_mean = mean / (1 - torch.pow(beta1, state["steps_taken"]))
        unbiased_square = square / (1 - torch.pow(beta2, state["steps_taken"]))
        update = unbiased_mean / (unbiased_square.sqrt() + group["eps"])
        if group["weight_decay"]:
            update += group["weight_decay"] * parameter
            weight_norm, update_norm = parameter.norm(), update.norm()
            one = torch.ones_like(weight_norm)
            ratio = torch.where((weight_norm > 0) & (update_norm > 0), weight_norm / update_norm, one)
            update *= torch.minimum(ratio, one)
        parameter -= group["lr"] * update
