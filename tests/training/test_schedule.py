"""The learning rate of each step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipway_jobs.recipe.model import Optimizer
from slipway_training.schedule import learning_rate


def section(**values: object) -> Optimizer:
    return Optimizer.model_validate({"learning_rate": 1.0, "minimum_learning_rate": 0.1, **values})


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("linear", [0.5, 1.0, 0.775, 0.55, 0.325, 0.1]),
        ("cosine", [0.5, 1.0, 0.868198, 0.55, 0.231802, 0.1]),
    ],
)
def test_it_rises_to_the_peak_and_falls_to_the_minimum(schedule: str, expected: list[float]) -> None:
    optimizer = section(schedule=schedule, warmup_steps=2)
    assert [learning_rate(optimizer, step, 6) for step in range(1, 7)] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("schedule", "decay_steps", "expected"),
    [
        ("linear", 2, [0.5, 1.0, 1.0, 1.0, 0.55, 0.1]),
        ("cosine", 2, [0.5, 1.0, 1.0, 1.0, 0.55, 0.1]),
        ("linear", 4, [0.5, 1.0, 0.775, 0.55, 0.325, 0.1]),
        ("linear", 0, [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_it_stays_at_the_peak_until_the_decay(schedule: str, decay_steps: int, expected: list[float]) -> None:
    optimizer = section(schedule=schedule, warmup_steps=2, decay_steps=decay_steps)
    assert [learning_rate(optimizer, step, 6) for step in range(1, 7)] == pytest.approx(expected, abs=1e-6)


def test_without_warm_up_the_first_step_has_the_peak() -> None:
    assert learning_rate(section(), 1, 3) == 1.0
    assert learning_rate(section(), 1, 1) == 1.0


@given(st.integers(0, 50), st.integers(1, 60), st.sampled_from(["cosine", "linear"]), st.data())
def test_it_is_never_outside_of_its_bounds(warmup: int, steps: int, schedule: str, data: st.DataObject) -> None:
    decay = data.draw(st.none() | st.integers(0, max(0, steps - warmup)))
    optimizer = section(schedule=schedule, warmup_steps=warmup, decay_steps=decay, minimum_learning_rate=0.0)
    step = data.draw(st.integers(1, steps))
    assert 0 <= learning_rate(optimizer, step, steps) <= 1
    if step < steps:
        assert learning_rate(optimizer, step, steps) > 0
