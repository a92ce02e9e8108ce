"""What becomes of an engine's metrics on the way to CloudWatch, step by step."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from assets.inference.engine_metrics import (
    COUNTERS,
    GAUGES,
    HISTOGRAMS,
    UNITS,
    Minute,
    Scrape,
    UnreadableMetricsError,
    embedded_metrics,
    parse,
    spread,
)
from slipway import facts
from tests.assets.embedded_metric_format import extracted
from tests.assets.engine_stand_in import RECORDED

ENGINES = sorted(facts.inference_engines())
NAMES = {
    "queue_size": "waiting",
    "running_requests": "running",
    "prompt_tokens": "prompt_total",
    "requests_succeeded": "success_total",
    "time_to_first_token": "first",
}


def recorded(engine: str) -> str:
    """The engine's text with four running and three waiting requests, about a hundred answered."""
    return (RECORDED / f"{engine}.txt").read_text()


def judged(text: str) -> tuple[dict[str, float], dict[str, dict[float, float]]]:
    """The samples as the Prometheus client library reads them, added up as the script does."""
    values: dict[str, float] = {}
    buckets: dict[str, dict[float, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if "le" in sample.labels:
                into, key = buckets.setdefault(sample.name.removesuffix("_bucket"), {}), float(sample.labels["le"])
                into[key] = into.get(key, 0.0) + sample.value
            else:
                # The library gives every counter the suffix that OpenMetrics asks for; TGI's have none.
                name = sample.name if sample.name in text else sample.name.removesuffix("_total")
                values[name] = values.get(name, 0.0) + sample.value
    return values, buckets


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engines_text_is_read_as_prometheus_reads_it(engine: str) -> None:
    scrape = parse(recorded(engine))
    values, buckets = judged(recorded(engine))

    assert scrape.values == pytest.approx(values)
    assert scrape.buckets == buckets
    assert len(values) > 10


@pytest.mark.parametrize("engine", ENGINES)
def test_every_name_of_the_row_is_in_the_engines_text(engine: str) -> None:
    scrape = parse(recorded(engine))
    names = facts.inference_engine(engine).metrics

    assert {names[key] for key in names if key not in HISTOGRAMS} <= scrape.values.keys()
    assert {names[key] for key in names if key in HISTOGRAMS} <= scrape.buckets.keys()
    assert set(names) <= {*GAUGES, *COUNTERS, *HISTOGRAMS}
    assert {"queue_size", "running_requests", "prompt_tokens", "generated_tokens"} <= set(names)


@given(label=st.text(), value=st.floats(allow_nan=False))
def test_labels_may_hold_anything(label: str, value: float) -> None:
    registry = CollectorRegistry()
    Gauge("waiting", "Text\nwith \\ and lines", ["model"], registry=registry).labels(label).set(value)

    assert parse(generate_latest(registry).decode()).values == {"waiting": value}


@pytest.mark.parametrize("text", ["<html>", 'a{b="c} 1', "waiting", "waiting one", "{} 1"])
def test_something_else_is_refused(text: str) -> None:
    with pytest.raises(UnreadableMetricsError, match="not a sample"):
        parse(f"waiting 1\n{text}\n")


@pytest.mark.parametrize("text", ["waiting NaN", "# waiting 1", "", "  "])
def test_what_says_nothing_is_nothing(text: str) -> None:
    assert parse(text) == Scrape()


@given(st.lists(st.floats(0, 100), max_size=300))
def test_values_of_a_histogram_are_distributed_as_it_says(values: list[float]) -> None:
    bounds = [1.0, 5.0, 10.0, 50.0, math.inf]
    found = spread({bound: sum(value <= bound for value in values) for bound in bounds})

    assert len(found) == min(len(values), 100)
    for bound in bounds[:-2]:
        wanted = sum(value <= bound for value in values) / max(len(values), 1)
        assert sum(value <= bound for value in found) / max(len(found), 1) == pytest.approx(wanted, abs=0.011)


def test_a_histograms_median_is_prometheus_s() -> None:
    # histogram_quantile(0.5): rank 50 of 100, 30 below the bucket, 40 in it: 1 + (2 - 1) * 20 / 40.
    found = spread({1.0: 30, 2.0: 70, math.inf: 100})

    assert (found[49] + found[50]) / 2 == pytest.approx(1.5)
    assert found[-1] == 2.0, "what is above the last bound counts as that bound"


def scrape(prompt: float, success: float, *, running: float = 0, first: int = 0) -> Scrape:
    """What an engine shows."""
    registry = CollectorRegistry()
    Gauge("waiting", "", registry=registry).set(3)
    Gauge("running", "", registry=registry).set(running)
    Counter("prompt", "", registry=registry).inc(prompt)
    reasons = Counter("success", "", ["reason"], registry=registry)
    reasons.labels("stop").inc(success)
    reasons.labels("length").inc(success)
    histogram = Histogram("first", "", buckets=[1, 2], registry=registry)
    for _ in range(first):
        histogram.observe(1.5)
    return parse(generate_latest(registry).decode())


def test_what_was_counted_before_the_first_look_is_not_of_this_minute() -> None:
    minute = Minute(NAMES, batch_size=4)
    minute.add(scrape(1000, 10, first=5))
    assert minute.take() == {"QueueSize": [3], "RunningRequests": [0], "BatchUtilization": [0], "Scrapes": 1}

    minute.add(scrape(1100, 12, running=1, first=7))
    minute.add(scrape(1150, 12, running=4, first=7))
    assert minute.take() == {
        "QueueSize": [3, 3],
        "RunningRequests": [1, 4],
        "BatchUtilization": [25, 100],
        "Scrapes": 2,
        "PromptTokens": 150,
        "Requests": 4,
        "TimeToFirstToken": [1.25, 1.75],
    }


def test_an_engine_that_starts_anew_counts_from_zero() -> None:
    minute = Minute(NAMES, batch_size=None)
    minute.add(scrape(1000, 10, first=9))
    minute.take()

    minute.add(scrape(40, 1, first=2))
    found = minute.take()

    assert (found["PromptTokens"], found["Requests"]) == (40, 2)
    assert found["TimeToFirstToken"] == [1.25, 1.75]


def test_a_counter_that_comes_later_began_at_zero() -> None:
    minute = Minute(NAMES, batch_size=None)
    minute.add(Scrape())
    minute.add(scrape(40, 1))

    assert minute.take() == {
        "QueueSize": [3],
        "RunningRequests": [0],
        "Scrapes": 2,
        "PromptTokens": 40,
        "Requests": 2,
    }


def test_a_gauge_that_is_not_there_is_not_zero() -> None:
    minute = Minute(NAMES, batch_size=4)

    assert not minute.add(Scrape())
    assert minute.take() == {"Scrapes": 1}


def test_requests_in_the_queue_or_in_the_batch_make_a_task_busy() -> None:
    assert Minute(NAMES, batch_size=None).add(parse("waiting 1\nrunning 0\n"))
    assert Minute(NAMES, batch_size=None).add(parse("waiting 0\nrunning 1\n"))
    assert not Minute(NAMES, batch_size=None).add(parse("waiting 0\nrunning 0\n"))


def test_nothing_is_sent_of_a_minute_without_an_answer() -> None:
    assert Minute(NAMES, batch_size=4).take() == {}


def test_no_metric_has_more_values_than_a_line_may_hold() -> None:
    minute = Minute(NAMES, batch_size=4)
    for index in range(30):
        minute.add(scrape(0, 0, first=20 * index))

    line = embedded_metrics(minute.take(), "Space", {"ClusterName": "llm", "ServiceName": "tanuki"}, 1)

    assert {datum.name: len(datum.values) for datum in extracted(line)} == {
        "QueueSize": 30,
        "RunningRequests": 30,
        "BatchUtilization": 30,
        "Scrapes": 1,
        "PromptTokens": 1,
        "Requests": 1,
        "TimeToFirstToken": 100,
    }


def test_a_line_is_in_the_embedded_metric_format() -> None:
    dimensions = {"ClusterName": "llm", "ServiceName": "tanuki"}
    line = embedded_metrics({"QueueSize": [3.0, 1.0], "Requests": 2.0}, "Space", dimensions, 1_700_000_000_000)

    assert "\n" not in line
    assert json.loads(line)["_aws"]["Timestamp"] == 1_700_000_000_000
    queue, requests = extracted(line)
    assert (queue.name, queue.unit, queue.values) == ("QueueSize", "Count", (3, 1))
    assert (requests.name, requests.unit, requests.values) == ("Requests", UNITS["Requests"], (2,))
    assert queue.dimensions == requests.dimensions == tuple(dimensions.items())
