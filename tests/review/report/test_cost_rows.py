"""The table of costs and what a change adds to it."""

import pytest

from slipway.review.cost.model import Cost, CostLine
from slipway.review.report.cost_rows import cost_rows, totals
from slipway.review.report.headline import figures
from slipway.review.report.wording import duration, usd, usd_change
from tests.review.report.plans import BASE_COST, COST, TRAINING, UNPRICED, priced, without_price


def test_the_dearest_comes_first_and_what_bills_by_use_last() -> None:
    rows = [(row.what, row.billing) for row in cost_rows(COST, None)]

    assert rows[0] == ("queue trn1, trn1.32xlarge", "priced")
    assert [billing for _, billing in rows] == ["priced"] * 4 + ["unknown"] + ["by_use"] * 2


def test_a_line_says_what_it_costs_more_than_before() -> None:
    changed = [(row.what, row.idle_change, row.peak_change) for row in cost_rows(COST, BASE_COST) if row.peak_change]

    assert changed == [("queue trn1, trn1.32xlarge", 0.0, 43.0)]


def test_a_line_that_is_gone_is_shown_with_what_it_saves() -> None:
    base = COST.model_copy(update={"lines": (*COST.lines, priced(TRAINING, "login node", 0.2, 0.2))})

    gone = [row for row in cost_rows(COST, base) if row.is_gone]

    assert [(row.what, row.idle_change) for row in gone] == [("login node", -0.2)]


def test_lines_that_differ_in_nothing_but_the_resource_are_one() -> None:
    twice = COST.model_copy(update={"lines": (priced(TRAINING, "gateway", 0.1, 0.1),) * 2})

    rows = cost_rows(twice, None)

    assert [(row.what, row.times, row.idle) for row in rows] == [("gateway", 2, 0.2)]


def test_less_than_a_cent_is_no_change() -> None:
    crumbs = COST.model_copy(update={"lines": (*COST.lines[:-1], priced(TRAINING, "secret", 0.001, 0.001))})

    assert not [row for row in cost_rows(crumbs, COST) if row.what == "secret" and row.idle_change]


def test_sums_leave_out_what_has_no_price() -> None:
    idle, peak = totals(COST, BASE_COST)

    assert (usd(idle.usd_per_hour), usd_change(idle.change)) == ("$1.81", "no change")
    assert (usd(peak.usd_per_hour), usd_change(peak.change)) == ("$87.81", "+$43.00")


HOST = priced(TRAINING, "head node", 0.4, 0.4)
QUEUE = priced(TRAINING, "queue", 0.0, 86.0)
GATEWAY = priced(TRAINING, "gateway", 0.5, 0.5)


def cost_of(*lines: CostLine) -> Cost:
    return COST.model_copy(update={"lines": lines})


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((), ["$0.00", "$0.00"]),
        ((QUEUE,), ["$0.00", "$86.00"]),
        ((without_price(HOST),), ["unknown", "unknown"]),
        ((without_price(HOST), QUEUE), ["unknown", "at least $86.00"]),
        ((HOST, without_price(QUEUE)), ["$0.40", "at least $0.40"]),
    ],
    ids=["nothing", "all priced", "nothing priced", "no idle price", "no peak price"],
)
def test_a_sum_says_what_it_does_not_know(lines: tuple[CostLine, ...], words: list[str]) -> None:
    assert [total.amount() for total in totals(cost_of(*lines), None)] == words


@pytest.mark.parametrize(
    ("before", "after", "words", "row"),
    [
        (HOST, without_price(HOST), ["unknown", "unknown"], ("no longer priced",)),
        (without_price(HOST), HOST, ["unknown", "unknown"], ("newly priced",)),
        (QUEUE, without_price(QUEUE), ["no change", "unknown"], ("no longer priced",)),
        (without_price(HOST), without_price(HOST), ["no change", "no change"], ()),
        (None, without_price(HOST), ["unknown", "unknown"], ("idle unknown", "peak unknown")),
        (without_price(HOST), None, ["unknown", "unknown"], ("idle unknown", "peak unknown")),
    ],
    ids=["lost", "found", "lost at peak", "never known", "new", "gone"],
)
def test_a_price_that_comes_or_goes_saves_nothing(
    before: CostLine | None, after: CostLine | None, words: list[str], row: tuple[str, ...]
) -> None:
    base, head = (cost_of(GATEWAY, *([line] if line else [])) for line in (before, after))

    assert [total.change_an_hour() for total in totals(head, base)] == words
    assert [one.changes for one in cost_rows(head, base) if one.what != "gateway"] == [row]


def test_a_known_change_beside_an_unknown_one_says_so() -> None:
    idle, _ = totals(cost_of(GATEWAY, without_price(HOST)), cost_of(HOST))

    assert idle.change_an_hour("/h") == "+$0.50/h without 1 unknown price"


def test_a_tile_of_an_unknown_sum_has_no_unit() -> None:
    assert UNPRICED.comparison
    comparison = UNPRICED.comparison.model_copy(update={"cost": cost_of(HOST)})
    plan = UNPRICED.model_copy(update={"cost": cost_of(without_price(GATEWAY)), "comparison": comparison})

    idle = figures(plan)[0]

    assert (idle.value, idle.unit, idle.tone) == ("unknown", "", "careful")
    assert idle.detail == "-$0.40 an hour without 1 unknown price"


def test_amounts_and_durations_read_well() -> None:
    assert [usd(amount) for amount in (None, 0, 0.001, 2.5, 12345.6)] == [
        "unknown",
        "$0.00",
        "under $0.01",
        "$2.50",
        "$12,346",
    ]
    assert [usd_change(amount) for amount in (-1.5, 0.004, 150)] == ["-$1.50", "no change", "+$150"]
    assert [duration(seconds) for seconds in (0, 20, 90, 3600, 4000)] == [
        *("no time", "under a minute", "2 min", "1 h", "1 h 7 min"),
    ]


def test_a_line_without_a_change_or_under_a_cent_is_minor_but_never_an_unknown_price() -> None:
    cheap = COST.model_copy(update={"lines": (*COST.lines, priced(TRAINING, "alarm", 0.001, 0.001))})

    compared = [row.what for row in cost_rows(COST, BASE_COST) if not row.is_minor(is_compared=True)]
    alone = [row.what for row in cost_rows(cheap, None) if row.is_minor(is_compared=False)]

    assert {"queue trn1, trn1.32xlarge", "inference hosts, inf2.48xlarge"} <= set(compared)
    assert "NAT gateway" not in compared
    assert alone == ["alarm"]
