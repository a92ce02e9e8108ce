"""How many tasks serve a model, and when."""

from typing import Annotated, Literal

from pydantic import Field

from slipway.config.section import Form, Section

DEFAULT_TARGETS = {"queue_size": 2.0, "requests_per_target": 30.0}
"""What a metric is kept at where the file does not say."""


class Schedule(Section):
    """From a time on, other bounds: nights and week-ends with no task at all, for example."""

    name: Annotated[
        str, Form(r"[a-z][a-z0-9-]{0,31}", "a lower-case letter, then letters, digits and hyphens, 32", "night")
    ]
    """Name of the schedule, one of its own in a model."""

    cron: Annotated[
        str,
        Form(
            r"[0-9*,/?LW#A-Z-]+( [0-9*,/?LW#A-Z-]+){5}",
            "six fields: minute, hour, day of month, month, day of week, year",
            "0 20 ? * MON-FRI *",
        ),
    ]
    """When: minute, hour, day of month, month, day of week, year, as in AWS's cron expressions."""

    time_zone: str = "UTC"
    """Name of the time zone in the IANA database, for example `Asia/Tokyo`."""

    min_count: Annotated[int, Field(ge=0, le=100)]
    """Fewest tasks from then on."""

    max_count: Annotated[int, Field(ge=0, le=100)]
    """Most tasks from then on. 0 ends all hosts; the load balancer answers 503."""


class Scaling(Section):
    """How many tasks, and hosts: one task runs on each host."""

    min_count: Annotated[int, Field(ge=0, le=100)] = 1
    """Fewest tasks. Each costs a host by the hour. 0 switches the model off: nothing but a schedule wakes it."""

    max_count: Annotated[int, Field(ge=0, le=100)] | None = None
    """Most tasks; left out, `min_count`, and nothing scales."""

    metric: Literal["queue_size", "requests_per_target"] = "queue_size"
    """What is scaled on. `queue_size`: requests that wait in the engine, per task. `requests_per_target`: requests per
    task and minute, whatever they cost."""

    target: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """What the metric is kept at; left out, 2 waiting requests, or 30 requests a minute."""

    scale_out_cooldown_seconds: Annotated[int, Field(ge=0, le=3600)] = 300
    """Seconds before more tasks are asked for again: a host takes minutes to serve."""

    scale_in_cooldown_seconds: Annotated[int, Field(ge=0, le=7200)] = 900
    """Seconds before one task less is asked for again."""

    schedules: Annotated[tuple[Schedule, ...], Field(max_length=10)] = ()
    """Other bounds at other times."""

    warm_pool_count: Annotated[int, Field(ge=0, le=20)] = 0
    """Hosts that are set up and stopped, so that scaling out waits for neither boot nor image. They cost their
    volumes."""

    max_hosts: Annotated[int, Field(ge=1, le=200)] | None = None
    """Most hosts, where a quota is short; left out, as many as the tasks need, and one more for `deployment: surge`."""

    @property
    def target_value(self) -> float:
        """What the metric is kept at."""
        return DEFAULT_TARGETS[self.metric] if self.target is None else self.target

    @property
    def task_limit(self) -> int:
        """Most tasks at any time, schedules included."""
        bounds = [self.min_count if self.max_count is None else self.max_count]
        return max(bounds + [schedule.max_count for schedule in self.schedules])
