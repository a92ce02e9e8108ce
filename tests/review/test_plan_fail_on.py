"""--fail-on: each condition finds its own and nothing else."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest

from slipway.review.changes.model import Changes, ResourceChange, WiderAccess
from slipway.review.cost.model import Cost, CostLine
from slipway.review.deploy_time.model import DeployTime
from slipway.review.errors import NotPlannedError
from slipway.review.fail_on import CONDITIONS, FailOn
from slipway.review.plan import ClusterUpdate, Comparison, Plan
from slipway.review.security.model import Acknowledgement, Security, SecurityDelta, SecurityFinding

TIME = DeployTime(seconds=0, chain=(), one_stack_after_another_seconds=0)


def cost(idle: float = 1.0, peak: float = 10.0, *, unknown: bool = False) -> Cost:
    line = CostLine(
        stack="training",
        logical_id="Cluster",
        resource_type="Custom::PclusterCluster",
        what="nodes",
        billing="unknown" if unknown else "priced",
        idle_usd_per_hour=idle,
        peak_usd_per_hour=peak,
    )
    return Cost(region="us-west-2", lines=(line,), prices_as_of=date(2026, 11, 1))


def change(effect: Any, logical_id: str = "Data", **values: Any) -> ResourceChange:
    defaults: dict[str, Any] = {"loses_data": False, "construct_path": logical_id, "type": "AWS::S3::Bucket"}
    return ResourceChange(stack="storage", logical_id=logical_id, effect=effect, **defaults | values)


def plan(head: Cost | None = None, base: Cost | None = None, **values: Any) -> Plan:
    defaults: dict[str, Any] = {"changes": Changes(), "security": SecurityDelta(), "cluster_update": None}
    comparison = Comparison(base="main", cost=base or cost(), deploy_time=TIME, **defaults | values)
    return Plan(
        environment="default",
        region="us-west-2",
        head="1234567",
        cost=head or cost(),
        security=Security(),
        deploy_time=TIME,
        comparison=comparison,
    )


FINDING = SecurityFinding(tool="t", rule="S1", severity="error", stack="s", resource="r", message="m")
ACCEPTED = Acknowledgement(rule="S1", stack="s", resource="r", reason="why")
OPEN = WiderAccess(stack="s", resource="r", kind="iam", harm="permissions", what="Allow s3:* on *")

CASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "a scanner that did not run": ("security", {"security": SecurityDelta(not_run=("cdk-nag AwsSolutions",))}),
    "replace": ("replace", {"changes": Changes(resources=(change("replace"),))}),
    "may-replace": ("may-replace", {"changes": Changes(resources=(change("may_replace"),))}),
    "remove": ("remove", {"changes": Changes(resources=(change("remove"),))}),
    "data-loss": ("data-loss", {"changes": Changes(resources=(change("orphan", loses_data=True),))}),
    "broadening": ("broadening", {"changes": Changes(broadenings=(OPEN,))}),
    "new finding": ("security", {"security": SecurityDelta(new=(FINDING,))}),
    "newly accepted": ("security", {"security": SecurityDelta(new_acknowledgements=(ACCEPTED,))}),
    "stop": ("cluster-update", {"cluster_update": ClusterUpdate(verdict="nodes_must_stop", lines=("stop",))}),
    "not known": ("cluster-update", {"cluster_update": ClusterUpdate(verdict="not_known", lines=("why",))}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_condition_finds_its_own_and_no_other_does(case: str) -> None:
    expected, values = CASES[case]

    found = FailOn(",".join(CONDITIONS)).found(plan(**values))

    assert [line.partition(":")[0] for line in found] == [expected]


@pytest.mark.parametrize(
    "values",
    [
        {"changes": Changes(resources=(change("add"), change("update"), change("orphan")))},
        {"security": SecurityDelta(gone=(FINDING,), gone_acknowledgements=(ACCEPTED,))},
        {"cluster_update": ClusterUpdate(verdict="can_update", lines=("yes",))},
        {"cluster_update": ClusterUpdate(verdict="no_change")},
    ],
)
def test_what_is_harmless_stops_nothing(values: Mapping[str, Any]) -> None:
    assert FailOn(",".join((*CONDITIONS, "unpriced", "cost=0"))).found(plan(**values)) == ()


def test_a_replacement_that_another_causes_is_not_named_again() -> None:
    changes = Changes(resources=(change("replace", "Vpc"), change("replace", "Subnet", caused_by="storage/Vpc")))

    assert FailOn("replace").found(plan(changes=changes)) == ("replace: storage/Vpc (AWS::S3::Bucket)",)


def test_a_replacement_that_an_update_in_place_causes_is_named() -> None:
    changes = Changes(resources=(change("update", "Template"), change("replace", "Host", caused_by="storage/Template")))

    assert FailOn("replace").found(plan(changes=changes)) == ("replace: storage/Host (AWS::S3::Bucket)",)


@pytest.mark.parametrize(
    ("limit", "head", "expected"),
    [
        ("cost=20", cost(1.2, 12.0), []),
        ("cost=20", cost(1.21, 12.0), ["cost=20: idle $1.00 -> $1.21 an hour"]),
        ("cost=20%", cost(1.0, 13.0), ["cost=20: peak $10.00 -> $13.00 an hour"]),
        ("cost=50,cost=20", cost(1.0, 13.0), ["cost=20: peak $10.00 -> $13.00 an hour"]),
        ("cost=0", cost(0.5, 5.0), []),
        ("cost=0", cost(1.0000000000000002, 10.0), []),
        ("cost=0", cost(1.01, 10.0), ["cost=0: idle $1.00 -> $1.01 an hour"]),
    ],
)
def test_cost_may_grow_by_so_much(limit: str, head: Cost, expected: list[str]) -> None:
    assert list(FailOn(limit).found(plan(head))) == expected


def test_a_price_that_is_no_longer_known_is_no_saving() -> None:
    unknown = cost(unknown=True)
    line = unknown.lines[0].model_copy(update={"idle_quantity": 1.0, "peak_quantity": 1.0})

    said = FailOn("cost=20").found(plan(unknown.model_copy(update={"lines": (line,)})))

    assert [text.partition(": ")[2] for text in said] == [
        "idle: 1 of what changes has no known price on one side",
        "peak: 1 of what changes has no known price on one side",
    ]


def test_what_has_no_price_is_found_without_a_base() -> None:
    conditions = FailOn("unpriced")

    assert not conditions.needs_comparison
    alone = plan(cost(unknown=True)).model_copy(update={"comparison": None})
    assert conditions.found(alone) == ("unpriced: training/Cluster: nodes",)


def test_what_nobody_can_tell_without_a_base_is_not_fine() -> None:
    alone = plan().model_copy(update={"comparison": None, "not_compared": "main does not synthesize."})

    assert FailOn("replace,cost=20").found(alone) == ("not compared: main does not synthesize.",)
    assert FailOn("unpriced").found(alone) == ()


@pytest.mark.parametrize("text", ["replac", "cost", "cost=", "cost=much", "cost=-1", "cost=nan", "cost=inf"])
def test_a_condition_that_is_none_is_refused_with_those_that_are(text: str) -> None:
    with pytest.raises(NotPlannedError, match=f"^--fail-on {text}: the conditions are replace, may-replace, "):
        FailOn(f"replace,{text}")


def test_nothing_is_failed_on_without_the_option() -> None:
    assert FailOn("").found(plan(changes=Changes(resources=(change("replace"),)))) == ()
