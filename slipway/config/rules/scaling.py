"""Rules and notices about how many tasks and hosts serve a model, and when."""

from collections.abc import Iterator
from functools import cache
from zoneinfo import available_timezones

from aws_cron_expression_validator.validator import AWSCronExpressionError  # type: ignore[import-untyped]

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.inference import ServedModel
from slipway.config.problems import Finding, Path, near_names, shown
from slipway.config.rules.cron import YEAR, check_cron, cron_numbers, has_a_day
from slipway.config.rules.registry import model_notice, model_rule
from slipway.config.scaling import Scaling

# What only says how tasks are added and taken away.
_FOLLOWING = ("metric", "target", "scale_out_cooldown_seconds", "scale_in_cooldown_seconds")


def _bounds(scaling: Scaling) -> list[tuple[Path, int, int]]:
    """Return the bounds that hold without a schedule and those of each schedule, with the paths of the maxima."""
    most = scaling.min_count if scaling.max_count is None else scaling.max_count
    scheduled = [
        (("scaling", "schedules", index, "max_count"), schedule.min_count, schedule.max_count)
        for index, schedule in enumerate(scaling.schedules)
    ]
    return [(("scaling", "max_count"), scaling.min_count, most), *scheduled]


@model_rule
def task_bounds_in_order(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """max_count is not less than min_count, in schedules too."""
    for field, least, most in _bounds(model.scaling):
        if most < least:
            message = f"is less than min_count (got {most}, min_count is {least})"
            yield Finding((*path, *field), message, f"Write {least} or more, or lower min_count.")


@model_rule
def tasks_can_follow(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """Metric, target and cooldowns are set only where the number of tasks can change between two bounds."""
    given = [name for name in _FOLLOWING if name in model.scaling.model_fields_set]
    if given and all(most == least for _, least, most in _bounds(model.scaling)):
        message = f"nothing scales: min_count and max_count are both {model.scaling.min_count}"
        fix = f"Write `max_count: {model.scaling.min_count + 1}` or more, or remove this line."
        yield Finding((*path, "scaling", given[0]), message, fix)


@model_rule
def schedules_distinct(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """Each schedule of a model has a name of its own."""
    seen: set[str] = set()
    for index, schedule in enumerate(model.scaling.schedules):
        if schedule.name in seen:
            message = f"{schedule.name} appears twice"
            yield Finding((*path, "scaling", "schedules", index, "name"), message, "Write another name.")
        seen.add(schedule.name)


@model_rule
def schedule_times_distinct(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """No two schedules of a model have the same time: one of them would not hold."""
    seen: dict[tuple[str, str], str] = {}
    for index, schedule in enumerate(model.scaling.schedules):
        time = (schedule.cron, schedule.time_zone)
        if time in seen:
            message = f"{schedule.name} and {seen[time]} are at the same time, {shown(schedule.cron)}"
            yield Finding((*path, "scaling", "schedules", index, "cron"), message, "Write another time.")
        seen.setdefault(time, schedule.name)


@model_rule
def schedule_possible(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A schedule's time is one in AWS's cron syntax: six fields in their ranges, and one of the two days is `?`."""
    for index, schedule in enumerate(model.scaling.schedules):
        try:
            check_cron(schedule.cron)
        except AWSCronExpressionError as error:
            message = f"{str(error).rstrip('.').replace('.One', ', one')} (got {shown(schedule.cron)})"
            fix = (
                "Write minute, hour, day of month, month, day of week, year: `0 20 ? * MON-FRI *` is 20:00 on weekdays."
            )
            yield Finding((*path, "scaling", "schedules", index, "cron"), message, fix)


@model_rule
def schedule_comes(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A schedule's day exists in one of its months, in a year that is not past: 31 February never comes."""
    first_year = facts.inference_engine(model.engine).as_of.year  # synth reads no clock
    for index, schedule in enumerate(model.scaling.schedules):
        last_year = max(cron_numbers(schedule.cron, YEAR), default=first_year)
        here = (*path, "scaling", "schedules", index, "cron")
        if last_year < first_year:
            message = f"the year {last_year} is past (got {shown(schedule.cron)})"
            yield Finding(here, message, "Write `*` as the year, the last field.")
        elif not has_a_day(schedule.cron, first_year):
            message = f"the day never comes: no month in it has that many days (got {shown(schedule.cron)})"
            yield Finding(here, message, "Write a day that the months have, or `L` for the last one.")


@cache
def _time_zones() -> set[str]:
    """Return the time zones of the machine's IANA database: Python walks its folder for each question."""
    return available_timezones()


@model_rule
def time_zone_known(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A schedule's time zone is one of the IANA database."""
    for index, schedule in enumerate(model.scaling.schedules):
        if schedule.time_zone not in _time_zones():
            fix = near_names(schedule.time_zone, sorted(_time_zones())) or "Write a name such as `Asia/Tokyo`."
            message = f"there is no time zone {shown(schedule.time_zone)}"
            yield Finding((*path, "scaling", "schedules", index, "time_zone"), message, fix)


@model_rule
def hosts_for_all_tasks(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """max_hosts is enough for the most tasks, with `deployment: surge` for one more: a new task needs a host first."""
    scaling, surge = model.scaling, model.deployment == "surge"
    needed = scaling.task_limit + int(surge)
    if scaling.max_hosts is not None and scaling.max_hosts < needed:
        spare = " and 1 for `deployment: surge`" if surge else ""
        message = f"{scaling.max_hosts} hosts are too few: {scaling.task_limit} for the most tasks{spare}"
        fix = f"Write {needed} or more, or leave it out{', or write `deployment: in_place`' if surge else ''}."
        yield Finding((*path, "scaling", "max_hosts"), message, fix)


@model_rule
def warm_pool_within_hosts(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The warm pool is not larger than the model's hosts can be many: the rest would never start."""
    waiting = model.scaling.warm_pool_count
    if waiting > model.host_limit:
        message = f"{waiting} hosts wait, and at most {model.host_limit} can ever run"
        yield Finding((*path, "scaling", "warm_pool_count"), message, f"Write {model.host_limit} or less.")


@model_rule
def warm_pool_saves(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """There is no warm pool in a Capacity Block: it is paid when it is bought, so stopped hosts save nothing."""
    reservation = model.capacity_reservation
    if model.scaling.warm_pool_count and reservation and reservation.capacity_type == "capacity_block":
        message = "a Capacity Block is paid whether its hosts run or not, so hosts that wait stopped save nothing"
        yield Finding((*path, "scaling", "warm_pool_count"), message, "Remove this line, or raise `min_count`.")


@model_notice
def model_wakes(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A model can be left without a task, and no schedule gives it one again: an empty queue asks for nothing."""
    bounds = _bounds(model.scaling)
    asleep = [field for field, least, _ in bounds if least == 0]
    if asleep and all(least == 0 for _, least, _ in bounds[1:]):
        message = f"{model.name} can be left without a task, and nothing wakes it: a metric needs a task to come from"
        fix = "Write 1 or more, or add a schedule with `min_count: 1` or more."
        yield Finding((*path, *asleep[0][:-1], "min_count"), message, fix)


@model_notice
def deployment_without_gap(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A model's only task is replaced in place: requests fail while the new task loads the model."""
    if model.deployment == "in_place" and model.scaling.task_limit == 1:
        engine = facts.inference_engine(model.engine)
        message = f"each deployment stops the only task, and the next takes up to {engine.load_minutes} minutes to load"
        yield Finding((*path, "deployment"), message, "Write `surge` where one more host can be had for that time.")
