"""LAMB against the formula, written out with NumPy, and against Adam where the two are the same."""

import numpy as np
import numpy.typing as npt
import torch

from slipway_jobs.recipe.model import Optimizer
from slipway_training.schedule import set_learning_rate
from slipway_training.strategies.data_parallel.lamb import Lamb
from slipway_training.strategies.data_parallel.optimizer import make_optimizer

Array = npt.NDArray[np.float64]
BETAS, EPSILON, DECAY = (0.9, 0.999), 1e-6, 0.01


def gradients(steps: int, shape: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(shape, generator=generator) for _ in range(steps)]


def reference(weights: Array, grads: list[Array], rate: float, decay: float) -> Array:
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step, gradient in enumerate(grads, start=1):
        mean = BETAS[0] * mean + (1 - BETAS[0]) * gradient
        square = BETAS[1] * square + (1 - BETAS[1]) * gradient**2
        update = mean / (1 - BETAS[0] ** step) / (np.sqrt(square / (1 - BETAS[1] ** step)) + EPSILON)
        if decay:
            update = update + decay * weights
            update = update * min(1.0, float(np.linalg.norm(weights) / np.linalg.norm(update)))
        weights = weights - rate * update
    return weights


def take_steps(optimizer: torch.optim.Optimizer, parameter: torch.nn.Parameter, grads: list[torch.Tensor]) -> None:
    for gradient in grads:
        parameter.grad = gradient.clone()
        optimizer.step()


def test_it_is_the_formula() -> None:
    start, grads = torch.full((4, 3), 0.02), gradients(5, (4, 3))
    parameter = torch.nn.Parameter(start.clone())
    optimizer = Lamb([{"params": [parameter], "weight_decay": DECAY}], lr=0.1, betas=BETAS, eps=EPSILON)
    take_steps(optimizer, parameter, grads)
    expected = reference(start.double().numpy(), [g.double().numpy() for g in grads], 0.1, DECAY)
    np.testing.assert_allclose(parameter.detach().numpy(), expected, rtol=1e-4, atol=1e-6)
    # The trust ratio, and not the cap at 1, decided: without it the weights would be elsewhere.
    assert np.abs(expected - reference(start.double().numpy(), [g.double().numpy() for g in grads], 0.1, 0)).max() > 0.1


def test_without_weight_decay_it_is_adam() -> None:
    start, grads = torch.randn(5, generator=torch.Generator().manual_seed(1)), gradients(4, (5,))
    ours, adams = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    take_steps(Lamb([{"params": [ours], "weight_decay": 0.0}], lr=0.01, betas=BETAS, eps=EPSILON), ours, grads)
    take_steps(torch.optim.Adam([adams], lr=0.01, betas=BETAS, eps=EPSILON), adams, grads)
    torch.testing.assert_close(ours, adams)


def test_a_weight_of_zero_still_learns() -> None:
    parameter = torch.nn.Parameter(torch.zeros(2, 2))
    take_steps(
        Lamb([{"params": [parameter], "weight_decay": DECAY}], lr=0.1, betas=BETAS, eps=EPSILON),
        parameter,
        [torch.ones(2, 2)],
    )
    torch.testing.assert_close(parameter.detach(), torch.full((2, 2), -0.1))


def test_a_rate_as_a_tensor_gives_the_same_as_a_number() -> None:
    """On a device it is a tensor; a number would be compiled into the graph."""
    grads = gradients(3, (3, 3))
    results = []
    for rate in (0.05, torch.tensor(0.05)):
        parameter = torch.nn.Parameter(torch.ones(3, 3))
        group = {"params": [parameter], "weight_decay": DECAY}
        take_steps(Lamb([group], lr=rate, betas=BETAS, eps=EPSILON), parameter, grads)
        results.append(parameter.detach())
    torch.testing.assert_close(results[0], results[1])


def test_biases_and_norms_have_no_weight_decay_and_all_groups_get_the_rate() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3))
    section = Optimizer.model_validate({"learning_rate": 0.1, "weight_decay": 0.5})
    optimizer = make_optimizer(section, model, torch.device("cpu"))
    decayed = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    by_name = {name: decayed[id(parameter)] for name, parameter in model.named_parameters()}
    assert by_name == {"0.weight": 0.5, "0.bias": 0.0, "1.weight": 0.0, "1.bias": 0.0}
    set_learning_rate(optimizer, 0.02, torch.device("cpu"))
    assert [group["lr"] for group in optimizer.param_groups] == [0.02, 0.02]
