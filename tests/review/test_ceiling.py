"""The ceiling of an environment file against the estimate of its plan."""

from datetime import date
from typing import Any

import pytest

from slipway.config.operations import Operations
from slipway.review.ceiling import above_ceiling
from slipway.review.cost.model import Cost, CostLine


def line(what: str, peak: float | None) -> CostLine:
    return CostLine(
        stack="slipway-test-training",
        logical_id="Cluster",
        resource_type="Custom::PclusterCluster",
        what=what,
        billing="unknown" if peak is None else "priced",
        peak_usd_per_hour=peak,
    )


def cost(*lines: CostLine) -> Cost:
    return Cost(region="us-west-2", lines=lines, prices_as_of=date(2026, 11, 20))


def refused(found: Cost, **operations: Any) -> str | None:
    finding = above_ceiling(found, Operations(**operations))
    return f"{finding.message}. {finding.fix}" if finding else None


FOUR_NODES = cost(line("queue trn1", 86.0), line("head node", 0.384), line("FSx for Lustre", 1.38), line("NAT", 0.045))
TRN2 = cost(line("head node", 0.384), line("queue trn2, trn2.48xlarge", None))


def test_without_a_ceiling_anything_goes() -> None:
    assert refused(FOUR_NODES) is None
    assert refused(TRN2) is None


def test_the_ceiling_itself_is_allowed_in_the_cents_that_the_plan_prints() -> None:
    assert FOUR_NODES.peak_usd_per_hour == pytest.approx(87.809)
    assert refused(FOUR_NODES, max_usd_per_hour=87.81) is None
    assert refused(FOUR_NODES, max_usd_per_hour=87.80) is not None


def test_a_refusal_names_peak_maximum_the_dearest_and_what_to_write() -> None:
    assert refused(FOUR_NODES, max_usd_per_hour=40) == (
        "at its peak the environment costs 87.81 USD an hour by list prices, the maximum is 40.00; most of it: "
        "queue trn1 86.00; FSx for Lustre 1.38; head node 0.38. Lower the max_count of nodes or tasks, raise "
        "`max_usd_per_hour`, or accept it: `acknowledged_usd_per_hour: 88`."
    )


def test_what_is_acknowledged_is_allowed_until_it_grows() -> None:
    assert refused(FOUR_NODES, max_usd_per_hour=40, acknowledged_usd_per_hour=88) is None
    grown = cost(*FOUR_NODES.lines, line("queue spot", 21.5))
    message = refused(grown, max_usd_per_hour=40, acknowledged_usd_per_hour=88)

    assert message is not None
    assert "costs 109.31 USD an hour by list prices, the maximum is 40.00, somebody has accepted 88.00" in message
    assert "`acknowledged_usd_per_hour: 110`" in message


def test_an_unknown_price_is_refused_below_the_ceiling_until_it_is_acknowledged() -> None:
    message = refused(TRN2, max_usd_per_hour=40)

    assert message is not None
    assert "no price is known of what comes on top: queue trn2, trn2.48xlarge" in message
    assert "the maximum is" not in message
    assert "raise `max_usd_per_hour`" not in message
    assert "`acknowledged_usd_per_hour: 41`" in message
    assert refused(TRN2, max_usd_per_hour=40, acknowledged_usd_per_hour=41) is None
