"""Each look-up answers for what is known and refuses the rest."""

from collections.abc import Callable
from datetime import date

import pytest

from slipway import catalogue, facts


@pytest.mark.parametrize(
    "look_up",
    [
        facts.database_engine,
        facts.database_instance_type,
        facts.efa_installer,
        facts.inference_engine,
        facts.instance_family,
        facts.instance_type,
        facts.lustre_deployment,
        facts.machine_image,
        facts.training_stack,
        facts.open_zfs_deployment,
        facts.operating_system,
        facts.parallelcluster_release,
        facts.quota,
        facts.region,
        lambda key: facts.price(key, "us-west-2"),
        lambda key: facts.on_demand_price(key, "us-west-2"),
        lambda key: facts.offering("trn1.32xlarge", key),
    ],
)
def test_an_unknown_key_is_refused(look_up: Callable[[str], object]) -> None:
    with pytest.raises(facts.UnknownFact, match="nonesuch"):
        look_up("nonesuch")


def test_instance_type_of_the_default_environment() -> None:
    kind = facts.instance_type("trn1.32xlarge")
    assert (kind.family, kind.vcpus, kind.memory_gib) == ("trn1", 128, 512)
    assert (kind.neuron_devices, kind.neuron_cores, kind.logical_neuron_cores, kind.neuron_memory_gib) == (
        16,
        32,
        32,
        512,
    )
    assert (kind.network_cards, kind.efa_interfaces) == (8, 8)
    assert (kind.nvme_volumes, kind.nvme_gb, kind.nvme_gib) == (4, 7600, 7078)
    assert (kind.on_demand, kind.spot, kind.capacity_block) == (True, True, True)
    assert facts.quota(kind.on_demand_quota).quota_code == "L-2C3B7624"
    assert facts.quota(kind.spot_quota).quota_code == "L-6B0D517C"


def test_trainium_2_shows_half_of_its_cores_to_a_job() -> None:
    kind = facts.instance_type("trn2.48xlarge")
    assert (kind.neuron_cores, kind.logical_neuron_cores, kind.neuron_memory_gib) == (128, 64, 1536)


def test_a_cpu_type_has_nothing_of_neuron() -> None:
    kind = facts.instance_type("m6i.2xlarge")
    assert (kind.neuron_devices, kind.neuron_cores, kind.neuron_memory_gib, kind.efa_interfaces) == (0, 0, 0, 0)
    assert facts.quota(kind.on_demand_quota).quota_code == "L-1216C47A"
    assert not kind.capacity_block


def test_offered_zones() -> None:
    assert facts.offered_zone_ids("trn1.32xlarge", "us-west-2") == {"usw2-az1", "usw2-az4"}
    assert facts.offered_zone_ids("trn1.32xlarge", "eu-west-1") == frozenset()
    assert facts.offering("trn1.32xlarge", "us-west-2").as_of >= date(2026, 1, 1)
    assert "us-east-2" in facts.offering_regions("trn2.48xlarge")
    assert facts.offering_regions("nonesuch") == {}


def test_a_region_knows_whether_parallelcluster_is_there() -> None:
    assert facts.region("us-west-2").parallelcluster
    assert not facts.region("ap-south-2").parallelcluster


def test_prices_say_when_they_are_not_known() -> None:
    known = facts.on_demand_price("trn1.32xlarge", "us-west-2")
    assert known is not None
    assert (known.usd, known.unit) == (21.5, "hour")
    unpublished = facts.on_demand_price("trn2.48xlarge", "us-east-2")
    assert unpublished is not None
    assert unpublished.usd is None
    assert unpublished.note
    assert facts.on_demand_price("trn1.32xlarge", "sa-east-1") is None
    nat_gateway = facts.price("nat_gateway_hour", "us-west-2")
    assert nat_gateway is not None
    assert nat_gateway.usd == 0.045


@pytest.mark.parametrize(
    ("gib", "allowed"),
    [(1200, True), (2400, True), (4800, True), (96000, True), (0, False), (-2400, False), (3600, False), (4801, False)],
)
def test_lustre_capacity(gib: int, allowed: bool) -> None:
    assert facts.lustre_deployment("PERSISTENT_2").allows_capacity(gib) is allowed


@pytest.mark.parametrize(("wanted", "sold"), [(1, 1200), (1200, 1200), (1200.5, 2400), (2400, 2400), (9601, 12000)])
def test_lustre_capacity_that_is_large_enough(wanted: float, sold: int) -> None:
    assert facts.lustre_deployment("PERSISTENT_2").capacity_from(wanted) == sold


@pytest.mark.parametrize(
    ("resource_type", "seconds"),
    [
        ("AWS::FSx::FileSystem", 637),
        ("Custom::PclusterCluster", 1050),
        ("Custom::CDKBucketDeployment", 119),
        ("AWS::Nonesuch::Thing", None),
    ],
)
def test_create_seconds(resource_type: str, seconds: int | None) -> None:
    assert catalogue.create_seconds(resource_type) == seconds
