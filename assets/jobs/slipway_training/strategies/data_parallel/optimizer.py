"""The optimizers of data parallelism, from a recipe's section."""

from __future__ import annotations

import torch

from slipway_jobs.recipe.model import Optimizer as OptimizerSection
from slipway_training.schedule import learning_rate_value
from slipway_training.strategies.data_parallel.lamb import Lamb


def make_optimizer(section: OptimizerSection, model: torch.nn.Module, device: torch.device) -> torch.optim.Optimizer:
    """Return the optimizer of a model that is on its device. Biases and norms (vectors) have no weight decay."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": section.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    rate, betas = learning_rate_value(section.learning_rate, device), (section.beta1, section.beta2)
    if section.name == "lamb":
        return Lamb(groups, lr=rate, betas=betas, eps=section.epsilon)
    # `capturable` keeps the step's number on the device; the host's would be compiled into PyTorch/XLA's graph.
    on_device = device.type != "cpu"
    return torch.optim.AdamW(groups, lr=rate, betas=betas, eps=section.epsilon, foreach=False, capturable=on_device)
