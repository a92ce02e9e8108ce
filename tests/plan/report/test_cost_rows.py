"""The table of costs and what a change adds to it."""

from slipway.plan.report.cost_rows import cost_rows, totals
from slipway.plan.report.wording import duration, usd, usd_change
from tests.plan.report.plans import BASE_COST, COST, TRAINING, priced


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


def test_amounts_and_durations_read_well() -> None:
    assert [usd(amount) for amount in (None, 0, 0.001, 2.5, 12345.6)] == [
        "\N{EN DASH}",
        "$0.00",
        "under $0.01",
        "$2.50",
        "$12,346",
    ]
    assert [usd_change(amount) for amount in (-1.5, 0.004, 150)] == ["-$1.50", "no change", "+$150"]
    assert [duration(seconds) for seconds in (0, 20, 90, 3600, 4000)] == [
        *("no time", "under a minute", "2 min", "1 h", "1 h 7 min"),
    ]
