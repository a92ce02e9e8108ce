"""The reader of metrics, against every file that a training and its deaths can leave."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slipway_jobs.watching import metrics
from slipway_jobs.watching.metrics import read_metrics
from tests.jobs.watching.run_folder import metrics_line

LOSSES = st.floats(allow_nan=True, allow_infinity=True, width=32)
# Each attempt begins after a checkpoint of the ones before and takes some steps, each with its loss.
ATTEMPTS = st.lists(st.tuples(st.integers(0, 30), st.lists(LOSSES, min_size=1, max_size=12)), min_size=1, max_size=5)
NO_METRICS = st.one_of(
    st.sampled_from(["", "null", "[]", "{}", '{"step": "1"}', '{"step": true, "loss": 1}', "\x00\xff", "nan"]),
    st.text(max_size=20).filter(lambda text: "{" not in text),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attempts=ATTEMPTS, noise=NO_METRICS, cut=st.integers(0, 200))
def test_steps_are_those_of_the_run_as_it_went_on_last(
    tmp_path: Path, attempts: list[tuple[int, list[float]]], noise: str, cut: int
) -> None:
    expected: dict[int, float] = {}
    text = ""
    for resumed_at, losses in attempts:
        expected = {step: loss for step, loss in expected.items() if step <= resumed_at}
        for step, loss in enumerate(losses, start=resumed_at + 1):
            expected[step] = loss
            text += metrics_line(step, loss, 1000.0 + step)
        text += noise.replace("\n", " ").replace("\r", " ") + "\n"
    torn = metrics_line(9999, 1.0, 1.0)
    file = tmp_path / "metrics.jsonl"
    file.write_bytes(text.encode("utf-8", "surrogatepass") + torn[: min(cut, len(torn) - 2)].encode())

    read = read_metrics(file)

    assert [one.step for one in read] == sorted(expected)
    for one in read:
        assert one.loss == expected[one.step] or (math.isnan(one.loss) and math.isnan(expected[one.step]))
        assert one.diverged == (not math.isfinite(expected[one.step]))


def test_of_a_long_file_only_whole_lines_of_the_end_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [metrics_line(step, 1.0, float(step)) for step in range(1, 101)]
    file = tmp_path / "metrics.jsonl"
    file.write_text("".join(lines))
    monkeypatch.setattr(metrics, "TAIL_BYTES", len("".join(lines[-10:])) + 5)

    assert [one.step for one in read_metrics(file)] == list(range(91, 101))


def test_key_that_a_newer_kit_writes_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_text(json.dumps(json.loads(metrics_line(1, 2.0, 3.0)) | {"gradient_norm": 1.5}) + "\n")

    assert [one.loss for one in read_metrics(file)] == [2.0]


def test_training_that_has_not_begun_has_no_steps(tmp_path: Path) -> None:
    assert read_metrics(tmp_path / "metrics.jsonl") == ()
