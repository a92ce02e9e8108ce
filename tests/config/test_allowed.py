"""What must not be refused: everything that EC2 sells for training, and every lifetime beside every other."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from slipway import facts
from tests.config.files import MINIMAL, changed, load, load_cluster
from tests.config.rule_cases import GROUP, QUEUE, RESERVATION, RESOURCE

RELEASE = facts.parallelcluster_release("3.16.1")
POLICIES = ("delete", "snapshot", "retain", None)
LIFECYCLES = ("ephemeral", "persistent", None)
ON_DEMAND = {
    "no reservation": {},
    "one reservation": {f"{QUEUE}.capacity_reservation_id": RESERVATION},
    "several reservations": {f"{QUEUE}.capacity_reservation_resource_group_arn": GROUP},
}
BLOCK = {f"{QUEUE}.capacity_reservation_id": RESERVATION, f"{RESOURCE}.min_count": 1, f"{RESOURCE}.max_count": 1}


def purchases() -> list[tuple[str, str]]:
    """Every instance type that trains with every way in which EC2 sells it."""
    return [
        (row.name, usage.replace("-", "_"))
        for row in facts.instance_types().values()
        if facts.instance_family(row.family).trains
        for usage in row.usage_classes
    ]


def site(instance_type: str) -> dict[str, Any]:
    """A region with ParallelCluster and a zone that offers the type and a head node."""
    for region, offering in facts.offering_regions(instance_type).items():
        for zone in offering.availability_zone_ids:
            if region in RELEASE.regions and zone in facts.offered_zone_ids("m6i.2xlarge", region):
                others = [other for other in facts.region(region).availability_zone_ids if other != zone]
                return {
                    "region": region,
                    "network.training_availability_zone_id": zone,
                    "network.other_availability_zone_ids": others[:1],
                    "inference": None,
                }
    raise AssertionError(f"no region with ParallelCluster offers {instance_type}")


@pytest.mark.parametrize(("instance_type", "capacity_type"), purchases())
def test_every_purchase_of_every_type_that_trains(instance_type: str, capacity_type: str, tmp_path: Path) -> None:
    queue: dict[str, Any] = {f"{RESOURCE}.instance_type": instance_type, f"{QUEUE}.capacity_type": capacity_type}
    if capacity_type == "capacity_block":
        queue |= BLOCK
    training = load_cluster(tmp_path, changed(MINIMAL, {**site(instance_type), **queue}))
    assert training.queues[0].capacity_type == capacity_type


@pytest.mark.parametrize("reservation", ON_DEMAND.values(), ids=ON_DEMAND)
@pytest.mark.parametrize("instance_type", ["trn1.32xlarge", "c6i.4xlarge"])
def test_on_demand_with_and_without_reservations(
    reservation: dict[str, Any], instance_type: str, tmp_path: Path
) -> None:
    training = load_cluster(tmp_path, changed(MINIMAL, {f"{RESOURCE}.instance_type": instance_type, **reservation}))
    assert training.queues[0].reserved is bool(reservation)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("inference.models.0.route.host", "llm.xn--e1afmkfd.xn--p1ai"),
        ("inference.models.0.image", "ubuntu:22.04"),
        ("inference.models.0.image", "Registry.Example.com:5000/team_a/a--b/engine:V1.0_x"),
        ("inference.models.0.image", f"localhost:5000/engine@sha256:{'0' * 64}"),
        ("operations.alarm_email", "ml.platform+trn1@mail.example.xn--p1ai"),
        ("operations.monthly_budget_usd", 1_000_000_000),
        ("training.ssh", {"key_name": "the team's key (2026)", "allowed_cidr": "10.0.0.0/8"}),
    ],
)
def test_an_unusual_value_that_aws_takes(field: str, value: object, tmp_path: Path) -> None:
    load(tmp_path, changed(MINIMAL, {field: value}))


@pytest.mark.parametrize("instance_type", ["trn1.32xlarge", "c6i.4xlarge"])
def test_an_image_of_ones_own_for_any_queue(instance_type: str, tmp_path: Path) -> None:
    image = {f"{RESOURCE}.instance_type": instance_type, f"{QUEUE}.custom_ami_id": "ami-0123456789abcdef0"}
    assert load_cluster(tmp_path, changed(MINIMAL, image)).queues[0].custom_ami_id == "ami-0123456789abcdef0"


def test_a_cluster_without_accelerators(tmp_path: Path) -> None:
    training = load_cluster(tmp_path, changed(MINIMAL, {f"{RESOURCE}.instance_type": "m6i.2xlarge"}))
    assert training.training_stack_of(training.queues[0]) is None


@pytest.mark.parametrize(("policy", "lifecycle"), [*product(POLICIES, LIFECYCLES)])
def test_volumes_and_file_systems_live_as_long_as_each_is_told(
    policy: str | None, lifecycle: str | None, tmp_path: Path
) -> None:
    changes = {
        "training.home": {"deletion_policy": policy},
        "training.apps": {"deletion_policy": policy},
        "storage.lifecycle": lifecycle,
        "storage.lustre.lifecycle": lifecycle,
    }
    environment = load(tmp_path, changed(MINIMAL, changes))
    assert environment.training
    assert environment.training.apps.deletion_policy == policy
    assert environment.storage.lustre.lifecycle == lifecycle


def test_stopped_login_nodes(tmp_path: Path) -> None:
    pool = load_cluster(tmp_path, changed(MINIMAL, {"training.login_nodes.count": 0})).login_nodes
    assert pool is not None
    assert pool.count == 0
