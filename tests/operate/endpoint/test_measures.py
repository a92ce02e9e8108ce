"""The numbers of a level, out of answers whose times are written down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipway.operate.endpoint.http_client import Trouble
from slipway.operate.endpoint.load.measures import Percentiles, measure, percentile
from slipway.operate.endpoint.load.plan import Plan, parse_levels
from slipway.operate.endpoint.streaming import StreamedAnswer, Usage


def answer(first: float, between: float, chunks: int, tokens: int | None = None) -> StreamedAnswer:
    """An answer that began at 100 s."""
    arrivals = [100 + first + number * between for number in range(chunks)]
    usage = None if tokens is None else Usage(prompt_tokens=7, completion_tokens=tokens)
    return StreamedAnswer(100.0, arrivals, arrivals[-1], "text", "stop", True, usage)


def refused(kind: str) -> StreamedAnswer:
    return StreamedAnswer(100.0, trouble=Trouble(kind, "found", "advice"))


def test_times_and_rates() -> None:
    answers = [answer(0.5, 0.1, 11, 11), answer(1.5, 0.2, 11, 11), answer(2.5, 0.4, 11, 21), refused("429")]
    level = measure(3, 10.0, answers, [0.001])
    assert level.time_to_first_token is not None
    assert (level.time_to_first_token.p50, level.time_to_first_token.p90) == pytest.approx((1.5, 2.5))
    # The third answer's chunks hold two tokens each.
    assert level.token_latency is not None
    assert (level.token_latency.p50, level.token_latency.p90) == pytest.approx((0.2, 0.2))
    assert level.tokens_per_second == pytest.approx(5)
    assert level.all_tokens_per_second == pytest.approx(4.3)
    assert level.requests_per_second == pytest.approx(0.3)
    assert (level.requests, level.errors, level.error_share) == (4, {"429": 1}, 0.25)
    assert (level.generated_tokens, level.prompt_tokens) == (43, 21)
    assert not level.is_generator_late


def test_who_counted() -> None:
    counted, uncounted = answer(1, 1, 3, 5), answer(1, 1, 3)
    assert measure(1, 1, [counted], []).counted_by == "usage"
    assert measure(1, 1, [uncounted], []).counted_by == "chunks"
    both = measure(1, 1, [counted, uncounted], [])
    assert (both.counted_by, both.generated_tokens, both.prompt_tokens) == ("usage and chunks", 8, None)
    assert measure(1, 1, [refused("503")], []).counted_by == "nothing"


def test_one_token_has_no_latency() -> None:
    level = measure(1, 1.0, [answer(0.5, 0, 1, 1)], [])
    assert (level.token_latency, level.tokens_per_second, level.generated_tokens) == (None, None, 1)
    assert level.time_to_first_token == Percentiles(0.5, 0.5, 0.5)


def test_a_late_generator() -> None:
    assert measure(1, 1.0, [answer(1, 1, 2)], [0.0] * 90 + [0.5] * 10).is_generator_late
    assert not measure(1, 1.0, [answer(1, 1, 2)], [0.0] * 99 + [0.5]).is_generator_late


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_the_smallest_value_that_enough_do_not_exceed(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values)
    assert sum(value < found for value in values) < share * len(values)


@given(st.integers(1, 100), st.lists(st.integers(1, 64), min_size=1, unique=True))
def test_every_client_has_a_request(requests: int, levels: list[int]) -> None:
    text = ",".join(map(str, sorted(levels)))
    plan = Plan(levels=parse_levels(text), requests=requests, seconds=None, prompt_tokens=64, max_tokens=8)
    assert plan.all_requests == sum(plan.requests_at(level) or 0 for level in plan.levels)
    assert all((plan.requests_at(level) or 0) >= level for level in plan.levels)
