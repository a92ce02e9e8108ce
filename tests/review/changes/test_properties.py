"""Where two values differ, told by paths into them."""

from typing import Any

import pytest

from slipway.review.changes.properties import Difference, differences

DAY: dict[str, Any] = {"Prefix": "a/", "ExpirationInDays": 1}
WEEK: dict[str, Any] = {"Prefix": "b/", "ExpirationInDays": 7}
YEAR: dict[str, Any] = {"Prefix": "c/", "ExpirationInDays": 365}
ONE, OTHER = {"Name": "one", "Count": 1}, {"Name": "other", "Count": 1}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        # An item in front moves the others; they are the same.
        ([WEEK], [DAY, WEEK], [("Rules", None, [DAY])]),
        ([DAY, WEEK], [WEEK], [("Rules", [DAY], None)]),
        ([DAY, WEEK], [WEEK, YEAR], [("Rules[1].Prefix", "a/", "c/"), ("Rules[1].ExpirationInDays", 1, 365)]),
        ([DAY, WEEK], [DAY, {**WEEK, "ExpirationInDays": 6}], [("Rules[1].ExpirationInDays", 7, 6)]),
        ([DAY, {"Port": 80}], [DAY, {"Port": "80"}], []),
        # Order may matter: of actions, for example.
        ([DAY, WEEK], [WEEK, DAY], [("Rules", [DAY, WEEK], [WEEK, DAY])]),
        ([ONE, OTHER], [OTHER, ONE], [("Rules", ["one", "other"], ["other", "one"])]),
        (
            [ONE, OTHER],
            [OTHER, {**ONE, "Count": 2}],
            [
                ("Rules", ["one", "other"], ["other", "one"]),
                ("Rules[one].Count", 1, 2),
            ],
        ),
        ([OTHER], [ONE, OTHER], [("Rules[one]", None, ONE)]),
        (["a", "b"], ["c", "b"], [("Rules", ["a"], ["c"])]),
        (["a", "a"], ["a"], [("Rules", ["a", "a"], ["a"])]),
    ],
)
def test_items_of_a_list(before: list[Any], after: list[Any], found: list[Difference]) -> None:
    assert list(differences({"Rules": before}, {"Rules": after})) == found
