"""Cron expressions: the check of one item at a time says what the validator says about the whole."""

from itertools import product

import pytest
from aws_cron_expression_validator.validator import (  # type: ignore[import-untyped]
    AWSCronExpressionError,
    AWSCronExpressionValidator,
)

from slipway.config.rules.cron import check_cron

ITEMS = (
    *("*", "?", "L", "LW", "L-3", "1", "31", "59", "99", "15W", "2-5", "*-5", "3-*", "*/3", "1/2", "1-9/4", "1/0"),
    *("MON", "MON-FRI", "WED", "WEDL", "6L", "2#1", "2#6", "JUL", "JUL-AUG", "2026", "2026-2030", "1999/2", "", "x"),
)
USUAL = (["0", "20", "?", "*", "MON", "*"], ["0", "20", "1", "*", "?", "*"])


def expressions(field: int) -> list[str]:
    """Every item, and every two of them as a list, in one field of expressions that are valid otherwise."""
    texts = [*ITEMS, *(f"{first},{second}" for first, second in product(ITEMS, repeat=2))]
    return [" ".join([*usual[:field], text, *usual[field + 1 :]]) for usual in USUAL for text in texts]


def refuses_whole(cron: str) -> bool:
    try:
        AWSCronExpressionValidator.validate(cron)
    except AWSCronExpressionError:
        return True
    return False


def refuses_items(cron: str) -> bool:
    try:
        check_cron(cron)
    except AWSCronExpressionError:
        return True
    return False


@pytest.mark.parametrize("field", range(6))
def test_a_list_is_valid_when_its_items_are(field: int) -> None:
    found = {cron: refuses_items(cron) for cron in expressions(field)}

    assert found == {cron: refuses_whole(cron) for cron in found}
    assert len(set(found.values())) == 2
