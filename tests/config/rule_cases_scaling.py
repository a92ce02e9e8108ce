"""The rule cases of tasks and hosts: bounds, schedules, warm pools."""

from typing import Any

from tests.config.rule_cases import Case
from tests.config.rule_cases_inference import FIRST, MODEL

Changes = dict[str, Any]


def scaling(**keys: Any) -> Changes:
    """The first model's `scaling` section."""
    return {f"{MODEL}.scaling": keys}


def scheduled(*schedules: Changes, **keys: Any) -> Changes:
    """The first model's `scaling` section with schedules; a key that is not given has a value that is allowed."""
    usual = {"name": "night", "cron": "0 20 * * ? *", "min_count": 1, "max_count": 1}
    return scaling(**keys, schedules=[{**usual, **schedule} for schedule in schedules])


def timed(cron: str) -> Changes:
    """A schedule at this time."""
    return scheduled({"cron": cron})


SCHEDULE = f"{FIRST}.scaling.schedules[0]"

SCALING = [
    Case(
        "task-bounds-in-order",
        scaling(min_count=3, max_count=2),
        f"{FIRST}.scaling.max_count",
        "is less than min_count (got 2, min_count is 3)",
        scaling(min_count=2, max_count=2),
    ),
    Case(
        "task-bounds-in-order",
        scheduled({"min_count": 2, "max_count": 1}),
        f"{SCHEDULE}.max_count",
        "is less than min_count (got 1, min_count is 2)",
        scheduled({"min_count": 2, "max_count": 2}),
    ),
    Case(
        "tasks-can-follow",
        scaling(min_count=2, metric="requests_per_target"),
        f"{FIRST}.scaling.metric",
        "nothing scales: min_count and max_count are both 2. Write `max_count: 3` or more, or remove this line.",
        scaling(min_count=2, max_count=3, metric="requests_per_target"),
    ),
    Case(
        # The bounds of a schedule leave room where the others do not.
        "tasks-can-follow",
        scheduled({"min_count": 2, "max_count": 2}, target=1.5),
        f"{FIRST}.scaling.target",
        "nothing scales: min_count and max_count are both 1",
        scheduled({"min_count": 1, "max_count": 2}, target=1.5),
    ),
    Case(
        "schedules-distinct",
        scheduled({}, {"cron": "0 8 * * ? *"}),
        f"{FIRST}.scaling.schedules[1].name",
        "night appears twice",
        scheduled({}, {"name": "morning", "cron": "0 8 * * ? *"}),
    ),
    Case(
        "schedule-times-distinct",
        scheduled({}, {"name": "evening"}),
        f"{FIRST}.scaling.schedules[1].cron",
        "evening and night are at the same time, '0 20 * * ? *'",
        scheduled({}, {"name": "evening", "time_zone": "Asia/Tokyo"}),
    ),
    Case(
        "schedule-possible",
        timed("0 24 * * ? *"),
        f"{SCHEDULE}.cron",
        "Invalid hour value '24' (got '0 24 * * ? *')",
        timed("0 23 * * ? *"),
    ),
    Case(
        "schedule-possible",
        timed("0 20 * * * *"),
        f"{SCHEDULE}.cron",
        "Invalid combination of day-of-month '*' and day-of-week '*', one must be a question mark (?)",
        timed("0 20 ? * * *"),
    ),
    Case(
        "schedule-possible",
        timed("0 20 ? * MON-FRY *"),
        f"{SCHEDULE}.cron",
        "Invalid day-of-week value 'MON-FRY'",
        timed("0/30 20 ? JAN-MAR MON-FRI 2026-2030"),
    ),
    Case(
        # The validator alone would take minutes for each item more.
        "schedule-possible",
        timed(f"{'1/1,' * 40}60 20 ? * MON *"),
        f"{SCHEDULE}.cron",
        "Invalid minute value '60'",
        timed(f"{'1/1,' * 40}59 20 ? * MON *"),
    ),
    Case(
        "schedule-possible",
        timed("0 20 1,L * ? *"),
        f"{SCHEDULE}.cron",
        "'L' cannot stand in a list",
        timed("0 20 L * ? *"),
    ),
    Case(
        "schedule-comes",
        timed("0 20 31 FEB,4,11 ? *"),
        f"{SCHEDULE}.cron",
        "the day never comes: no month in it has that many days (got '0 20 31 FEB,4,11 ? *')",
        timed("0 20 31 2,4,12 ? *"),
    ),
    Case(
        "schedule-comes",
        timed("0 20 29 2 ? 2027"),
        f"{SCHEDULE}.cron",
        "the day never comes",
        timed("0 20 29 2 ? 2027-2028"),
    ),
    Case(
        "schedule-comes",
        timed("0 20 ? * MON-FRI 1999"),
        f"{SCHEDULE}.cron",
        "the year 1999 is past (got '0 20 ? * MON-FRI 1999'). Write `*` as the year, the last field.",
        timed("0 20 31W NOV-FEB ? 1999/10"),
    ),
    Case(
        "time-zone-known",
        scheduled({"time_zone": "Asia/Tokio"}),
        f"{SCHEDULE}.time_zone",
        "there is no time zone 'Asia/Tokio'. Did you mean 'Asia/Tokyo'?",
        scheduled({"time_zone": "Asia/Tokyo"}),
    ),
    Case(
        "hosts-for-all-tasks",
        scaling(min_count=2, max_count=4, max_hosts=4),
        f"{FIRST}.scaling.max_hosts",
        "4 hosts are too few: 4 for the most tasks and 1 for `deployment: surge`. Write 5 or more, or leave it out",
        {**scaling(min_count=2, max_count=4, max_hosts=4), f"{MODEL}.deployment": "in_place"},
    ),
    Case(
        # The most tasks are those of a schedule.
        "hosts-for-all-tasks",
        {**scheduled({"min_count": 3, "max_count": 6}, max_hosts=5), f"{MODEL}.deployment": "in_place"},
        f"{FIRST}.scaling.max_hosts",
        "5 hosts are too few: 6 for the most tasks. Write 6 or more, or leave it out.",
        scheduled({"min_count": 3, "max_count": 6}, max_hosts=7),
    ),
    Case(
        "warm-pool-within-hosts",
        scaling(min_count=1, max_count=3, warm_pool_count=5),
        f"{FIRST}.scaling.warm_pool_count",
        "5 hosts wait, and at most 4 can ever run. Write 4 or less.",
        scaling(min_count=1, max_count=3, warm_pool_count=4),
    ),
]
