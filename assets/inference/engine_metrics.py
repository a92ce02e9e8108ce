"""Sends an inference engine's own metrics to CloudWatch, and protects its task from scale-in while requests run.

It runs beside the engine, in a container of the same task and from the engine's own image, with that image's Python
(3.10 or newer) and without any package: nothing is pulled and the task needs no network. Every 5 seconds it reads the
engine's metrics (Prometheus text format, version 0.0.4) on the loopback interface. Every minute it prints one line in
CloudWatch's embedded metric format, and CloudWatch Logs makes metrics of it.

Gauges are sent with each value that was read, so that Average is that of all tasks; counters with what was added in the
minute; of histograms up to 100 values that stand for the minute's, so that percentiles can be asked for. An engine that
does not answer sends nothing: a loading task must not pull the average down.

A task that answers requests is protected from scale-in and from being replaced (Amazon ECS task scale-in protection),
for 15 minutes at most: after that it is open for 3 minutes, or a deployment would wait for ever for a busy task. What
runs then has the load balancer's deregistration delay to finish.

Environment:
    SLIPWAY_METRICS_URL: where the engine's metrics are.
    SLIPWAY_METRIC_NAMES: JSON object, neutral name -> the engine's name.
    SLIPWAY_NAMESPACE, SLIPWAY_CLUSTER, SLIPWAY_SERVICE: CloudWatch namespace and values of the dimensions.
    SLIPWAY_BATCH_SIZE: requests that the engine answers at a time, if that is known.
    SLIPWAY_PROTECT_BUSY_TASK: `true` or `false`.
    SLIPWAY_SCRAPE_SECONDS, SLIPWAY_REPORT_SECONDS: 5 and 60; tests shorten them.
    ECS_AGENT_URI: set by the ECS agent.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import re
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GAUGES = {"queue_size": "QueueSize", "running_requests": "RunningRequests"}
COUNTERS = {"prompt_tokens": "PromptTokens", "generated_tokens": "GeneratedTokens", "requests_succeeded": "Requests"}
HISTOGRAMS = {"time_to_first_token": "TimeToFirstToken", "request_duration": "RequestDuration"}
UNITS = {
    **dict.fromkeys([*GAUGES.values(), *COUNTERS.values(), "Scrapes"], "Count"),
    **dict.fromkeys(HISTOGRAMS.values(), "Seconds"),
    "BatchUtilization": "Percent",
}
"""Every metric that is sent, with its unit."""

MOST_VALUES = 100
"""Most values of one metric in one line of the embedded metric format."""

HTTP_SECONDS = 4
MOST_BYTES = 8 * 1024 * 1024

IDLE_SECONDS = 30
"""How long no request runs before the protection is taken off: requests that follow each other keep it."""

PROTECTED_SECONDS = 15 * 60
OPEN_SECONDS = 3 * 60
RENEWAL_SECONDS = 120
EXPIRY_MINUTES = 5
"""A protection that nobody renews, because this process ended, goes by itself."""

RETRY_SECONDS = 60

_SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r"(?:\{(?P<labels>(?:[^\"{}]|\"(?:[^\"\\]|\\.)*\")*)\})?"
    r"\s+(?P<value>\S+)(?:\s+-?[0-9]+)?\s*"
)
_BOUND = re.compile(r"(?:^|,)\s*le\s*=\s*\"([^\"]*)\"")
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def say(message: str) -> None:
    """Write to the log; a line of words is no metric to CloudWatch."""
    print(message, file=sys.stderr, flush=True)


class UnreadableMetricsError(ValueError):
    """What the engine answered is not the Prometheus text format."""


@dataclass
class Scrape:
    """What was read once, added up over the labels that tell models, engines or reasons apart."""

    values: dict[str, float] = field(default_factory=dict)
    """Name of the sample -> value."""

    buckets: dict[str, dict[float, float]] = field(default_factory=dict)
    """Name of the histogram -> upper bound -> how many values up to it."""


def parse(text: str) -> Scrape:
    """Return the samples of a text.

    Raises:
        UnreadableMetricsError: a line is neither a comment nor a sample.
    """
    scrape = Scrape()
    # Not splitlines(): a label may hold other ends of lines.
    for line in text.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        match = _SAMPLE.fullmatch(line)
        try:
            value = float(match["value"]) if match else math.nan
        except ValueError:
            match = None
        if match is None:
            raise UnreadableMetricsError(f"not a sample: {line[:100]!r}")
        if math.isnan(value):
            continue
        name, bound = match["name"], _BOUND.search(match["labels"] or "")
        if name.endswith("_bucket") and bound:
            buckets = scrape.buckets.setdefault(name.removesuffix("_bucket"), {})
            buckets[float(bound[1])] = buckets.get(float(bound[1]), 0.0) + value
        else:
            scrape.values[name] = scrape.values.get(name, 0.0) + value
    return scrape


def spread(buckets: Mapping[float, float]) -> list[float]:
    """Return values that are distributed as a histogram says, one for each of it and 100 at most.

    Inside a bucket they are spread evenly, as Prometheus's `histogram_quantile` does; what is above the last bound
    counts as that bound.
    """
    bounds = sorted(buckets)
    total = buckets[bounds[-1]] if bounds else 0.0
    wanted = min(int(total), MOST_VALUES)
    values, lower, below = [], 0.0, 0.0
    ranks = iter([(index + 0.5) / wanted * total for index in range(wanted)])
    rank = next(ranks, None)
    for bound in bounds:
        upper = lower if math.isinf(bound) else bound
        while rank is not None and rank <= buckets[bound]:
            values.append(round(lower + (upper - lower) * (rank - below) / (buckets[bound] - below), 6))
            rank = next(ranks, None)
        lower, below = upper, buckets[bound]
    return values


def added(now: Mapping[float, float], before: Mapping[float, float]) -> dict[float, float]:
    """Return what a histogram counted since; all of it where the engine started anew."""
    difference = {bound: count - before.get(bound, 0.0) for bound, count in now.items()}
    return dict(now) if any(count < 0 for count in difference.values()) else difference


@dataclass
class Minute:
    """What is sent next."""

    names: Mapping[str, str]
    """Neutral name -> the engine's name."""

    batch_size: int | None
    values: dict[str, list[float]] = field(default_factory=dict)
    last: Scrape | None = None

    def add(self, scrape: Scrape) -> bool:
        """Take in what was read; return whether requests are in the engine."""
        gauges = {key: scrape.values[name] for key in GAUGES if (name := self.names.get(key)) in scrape.values}
        for key, value in gauges.items():
            self._send(GAUGES[key], [value])
        if self.batch_size and "running_requests" in gauges:
            self._send("BatchUtilization", [round(100 * gauges["running_requests"] / self.batch_size, 3)])
        self._send("Scrapes", [1.0])
        # What was counted before the first look is not of this minute.
        if self.last is not None:
            self._add_counted(scrape, self.last)
        self.last = scrape
        return sum(gauges.values()) > 0

    def _add_counted(self, now: Scrape, before: Scrape) -> None:
        for key, metric in COUNTERS.items():
            if key in self.names:
                # A counter that is not there yet has counted nothing: TGI shows one only after its first event.
                value, known = (scrape.values.get(self.names[key], 0.0) for scrape in (now, before))
                self._send(metric, [value - known if value >= known else value])
        for key, metric in HISTOGRAMS.items():
            if key in self.names:
                buckets, known_buckets = (scrape.buckets.get(self.names[key], {}) for scrape in (now, before))
                self._send(metric, spread(added(buckets, known_buckets)))

    def _send(self, metric: str, values: list[float]) -> None:
        self.values.setdefault(metric, []).extend(values)

    def take(self) -> dict[str, float | list[float]]:
        """Return the minute's metrics and begin the next."""
        counted = {*COUNTERS.values(), "Scrapes"}
        minute: dict[str, float | list[float]] = {}
        for metric, values in self.values.items():
            if metric in counted:
                minute[metric] = round(sum(values), 3)
            elif values:
                # Evenly taken where there are too many: the order is that of time, or of size.
                step = max(1.0, len(values) / MOST_VALUES)
                minute[metric] = [values[int(index * step)] for index in range(min(len(values), MOST_VALUES))]
        self.values = {}
        return minute


def embedded_metrics(
    minute: Mapping[str, float | list[float]], namespace: str, dimensions: Mapping[str, str], milliseconds: int
) -> str:
    """Return a line in CloudWatch's embedded metric format."""
    directive = {
        "Namespace": namespace,
        "Dimensions": [list(dimensions)],
        "Metrics": [{"Name": metric, "Unit": UNITS[metric]} for metric in minute],
    }
    metadata = {"Timestamp": milliseconds, "CloudWatchMetrics": [directive]}
    return json.dumps({"_aws": metadata, **dimensions, **minute})


def fetch(url: str) -> Scrape:
    """Read the engine's metrics.

    Raises:
        OSError: it does not answer, or not in time.
        http.client.HTTPException: its answer breaks off.
        UnreadableMetricsError: its answer is something else.
    """
    with _NO_PROXY.open(url, timeout=HTTP_SECONDS) as response:
        return parse(response.read(MOST_BYTES).decode("utf-8", errors="replace"))


@dataclass
class Protection:
    """The task's scale-in protection."""

    agent_uri: str
    busy_since: float | None = None
    last_busy: float = -math.inf
    protected: bool = False
    asked_at: float = -math.inf
    refused: str | None = None

    def update(self, busy: bool, now: float) -> None:
        """Ask the ECS agent for the protection, for a longer one, or for none, where that is due.

        Args:
            busy: whether requests are in the engine.
            now: seconds of a clock that only goes on.
        """
        if busy:
            self.last_busy = now
            self.busy_since = now if self.busy_since is None else self.busy_since
        elif now - self.last_busy >= IDLE_SECONDS:
            self.busy_since = None
        wanted = (
            self.busy_since is not None
            and (now - self.busy_since) % (PROTECTED_SECONDS + OPEN_SECONDS) < PROTECTED_SECONDS
        )
        pause = RETRY_SECONDS if self.refused else RENEWAL_SECONDS if wanted and self.protected else 0
        if (wanted or self.protected) and now - self.asked_at >= pause:
            self.asked_at = now
            self._ask(wanted)

    def _ask(self, wanted: bool) -> None:
        body: dict[str, Any] = {"ProtectionEnabled": wanted}
        if wanted:
            body["ExpiresInMinutes"] = EXPIRY_MINUTES
        request = urllib.request.Request(
            f"{self.agent_uri}/task-protection/v1/state",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method="PUT",
        )
        try:
            with _NO_PROXY.open(request, timeout=HTTP_SECONDS) as response:
                answer = json.loads(response.read())
            refused = None if "protection" in answer else json.dumps(answer)
        except (OSError, http.client.HTTPException, ValueError) as error:
            refused = str(error)
        if refused is None:
            self.protected = wanted
        elif refused != self.refused:
            say(f"the task's scale-in protection stays as it is: {refused}")
        self.refused = refused


class Sidecar:
    """Reads, sends and protects until it is told to stop."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._url = environment["SLIPWAY_METRICS_URL"]
        self._namespace = environment["SLIPWAY_NAMESPACE"]
        self._dimensions = {
            "ClusterName": environment["SLIPWAY_CLUSTER"],
            "ServiceName": environment["SLIPWAY_SERVICE"],
        }
        batch_size = environment.get("SLIPWAY_BATCH_SIZE")
        self._minute = Minute(json.loads(environment["SLIPWAY_METRIC_NAMES"]), int(batch_size) if batch_size else None)
        agent_uri = environment.get("ECS_AGENT_URI")
        protects = environment["SLIPWAY_PROTECT_BUSY_TASK"] == "true"
        self._protection = Protection(agent_uri) if agent_uri and protects else None
        self._scrape_seconds = float(environment.get("SLIPWAY_SCRAPE_SECONDS", "5"))
        self._report_seconds = float(environment.get("SLIPWAY_REPORT_SECONDS", "60"))
        self._trouble: str | None = ""

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set, and send what was read until then."""
        report_at = time.monotonic() + self._report_seconds
        while not stop.wait(self._scrape_seconds):
            self._look()
            if time.monotonic() >= report_at:
                self._report()
                report_at = time.monotonic() + self._report_seconds
        self._report()

    def _look(self) -> None:
        try:
            busy = self._minute.add(fetch(self._url))
            trouble = None
        except (OSError, http.client.HTTPException, UnreadableMetricsError) as error:
            # A busy engine may answer late: what it was doing last is what it does.
            busy, trouble = False, str(error)
        if (trouble is None) != (self._trouble is None):
            say(f"no metrics from the engine: {trouble}" if trouble else "the engine answers")
        self._trouble = trouble
        if self._protection and trouble is None:
            self._protection.update(busy, time.monotonic())

    def _report(self) -> None:
        minute = self._minute.take()
        if minute:
            print(
                embedded_metrics(minute, self._namespace, self._dimensions, int(time.time() * 1000)),
                flush=True,
            )


def main() -> int:
    """Run until the task is stopped."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    Sidecar(os.environ).run(stop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
