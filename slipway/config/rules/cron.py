"""The dates of AWS's cron expressions: which days, months and years one names."""

import re
from calendar import monthrange
from dataclasses import dataclass

from aws_cron_expression_validator.validator import (  # type: ignore[import-untyped]
    AWSCronExpressionError,
    AWSCronExpressionValidator,
)

from slipway.config.section import InvalidPart

_MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


@dataclass(frozen=True)
class Field:
    """A field of a cron expression whose values are numbers."""

    index: int
    """Its place in the expression, from 0."""

    smallest: int
    largest: int
    names: tuple[str, ...] = ()
    """Names of the values from the smallest on."""


DAY = Field(2, 1, 31)
"""Day of the month."""

MONTH = Field(3, 1, 12, _MONTH_NAMES)
"""Month, as a number or a name."""

YEAR = Field(5, 1970, 2199)
"""Year."""


# What is in a field alone: every day, any day, the last day, a weekday near one, the third Monday.
_ALONE = re.compile(r"[*?]|LW?|L-[1-7]|[0-9]+W|([1-7]|[A-Z]{3})(L|#[1-5])")


def check_cron(cron: str) -> None:
    """Check an expression against AWS's syntax.

    The validator's regular expressions take twice as long for each `1/2,` more in a list that is not valid, so it gets
    one item of a list at a time.

    Raises:
        AWSCronExpressionError: It is not valid; the message says which field.
    """
    lists = [text.split(",") for text in cron.split(" ")]
    for index, items in enumerate(lists):
        for item in items:
            firsts = [item if index == other else values[0] for other, values in enumerate(lists)]
            AWSCronExpressionValidator.validate(" ".join(firsts))
            if len(items) > 1 and _ALONE.fullmatch(item.upper()):
                raise AWSCronExpressionError(f"'{item}' cannot stand in a list")


def cron_numbers(cron: str, field: Field) -> set[int]:
    """Return the numbers that a field names; none where it names days in another way (`?`, `L`, `LW`).

    Args:
        cron: The expression.
        field: Which of its fields.

    Raises:
        InvalidPart: The expression is not valid, which `schedule-possible` reports.
    """
    try:
        check_cron(cron)
    except AWSCronExpressionError as error:
        raise InvalidPart("cron") from error
    text = cron.split(" ")[field.index].upper()
    parts = [part for part in text.removesuffix("W").split(",") if part not in ("?", "L")]
    return {number for part in parts for number in _part(part, field)}


def _part(part: str, field: Field) -> list[int]:
    """Expand `7`, `2-5`, `*`, `10/2`, `1-20/5`, or `NOV-FEB`, which goes on at the smallest value."""
    bounds, _, step = part.partition("/")
    first, _, last = bounds.partition("-")
    start = _number(first, field, field.smallest)
    # A single value with a step goes on to the end of the field.
    end = _number(last or "*", field, field.largest) if last or step or first == "*" else start
    around = end < start
    numbers = [*range(start, field.largest + 1), *range(field.smallest, end + 1)] if around else range(start, end + 1)
    return [*numbers[:: int(step or 1)]]


def _number(text: str, field: Field, of_star: int) -> int:
    if text == "*":
        return of_star
    return field.smallest + field.names.index(text) if text in field.names else int(text)


def has_a_day(cron: str, first_year: int) -> bool:
    """Whether the day of the month exists in one of the months, from a year on.

    Args:
        cron: The expression.
        first_year: The first year that counts.

    Raises:
        InvalidPart: The expression is not valid.
    """
    days = cron_numbers(cron, DAY)
    years = [year for year in cron_numbers(cron, YEAR) if year >= first_year]
    return not days or any(
        min(days) <= monthrange(year, month)[1] for year in years for month in cron_numbers(cron, MONTH)
    )
