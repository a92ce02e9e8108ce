"""Every kind of node that the facts allow passes ParallelCluster; its launch template holds what the facts promise."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from slipway import facts
from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.inside_parallelcluster.answer import Answer, Level
from tests.assembly import synthesize
from tests.config.files import load
from tests.review.judge.matrix import Kind, Site, group_arn, placement_group, reservation_id, sites
from tests.review.judge.quick_judge import ask_parallelcluster

pytestmark = pytest.mark.combination

SITES = sites()
KINDS = [(site, number, kind) for site in SITES for number, kind in enumerate(site.kinds)]
MARKETS = {"spot": "spot", "capacity block": "capacity-block"}

Answers = Mapping[Site, Answer]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """ParallelCluster's answer for every site; side by side, because each is a process of several seconds."""
    folders = {site: tmp_path_factory.mktemp(f"{site.region}-{site.operating_system}") for site in SITES}
    # The CDK does not like threads, so all sites are synthesized before.
    assemblies = {
        site: read_assembly(synthesize(load(folder, site.environment), folder / "assembly").directory)
        for site, folder in folders.items()
    }

    def answer(site: Site) -> Answer:
        # Without the images that an environment offers to bake: the shipped environments show that they build.
        return ask_parallelcluster({**assemblies[site], "documents": {}}, folders[site], site.reservations)

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return dict(zip(SITES, pool.map(answer, SITES), strict=True))


def test_the_matrix_holds_every_trainium_type_and_every_way_to_buy_it() -> None:
    kinds = {kind for site in SITES for kind in site.kinds}
    types = {row.name for row in facts.instance_types().values() if row.family.startswith("trn")}
    assert {kind.instance_type for kind in kinds} > types
    assert ("trn1n.32xlarge", "capacity block") not in {(kind.instance_type, kind.capacity) for kind in kinds}
    assert {kind.training_stack for kind in kinds} == {None, *facts.training_stacks()}
    assert {kind.operating_system for kind in kinds} == set(facts.operating_systems())


@pytest.mark.parametrize("site", SITES, ids=lambda site: f"{site.zone} {site.operating_system}")
def test_parallelcluster_builds_the_cluster(site: Site, answers: Answers) -> None:
    outcome = answers[site].outcome
    assert [finding for finding in outcome.findings if finding.level is Level.ERROR] == []
    assert outcome.template_resources > 40
    assert len(outcome.launch_templates) == len(site.kinds)


@pytest.mark.parametrize(("site", "number", "kind"), KINDS, ids=[str(kind) for _, __, kind in KINDS])
def test_the_launch_template_holds_what_the_facts_promise(
    site: Site, number: int, kind: Kind, answers: Answers
) -> None:
    launched = answers[site].outcome.launch_templates[f"q{number}/nodes"]
    assert launched["InstanceType"] == kind.instance_type
    assert_interfaces(launched["NetworkInterfaces"], facts.instance_type(kind.instance_type))
    assert_bought_as(kind, site.region, number, launched)
    assert launched["MetadataOptions"]["HttpTokens"] == "required"
    volumes = [mapping["Ebs"] for mapping in launched["BlockDeviceMappings"] if "Ebs" in mapping]
    assert volumes
    assert all(volume["Encrypted"] for volume in volumes)


def assert_interfaces(interfaces: list[Mapping[str, Any]], instance_type: facts.InstanceType) -> None:
    """One interface with an address on card 0, and one for EFA alone on each card; none with a public address."""
    with_address, *efa = interfaces
    assert "InterfaceType" not in with_address
    assert (with_address["NetworkCardIndex"], with_address["DeviceIndex"]) == (0, 0)
    assert [(item["InterfaceType"], item["NetworkCardIndex"], item["DeviceIndex"]) for item in efa] == [
        ("efa-only", card, 1) for card in range(instance_type.efa_interfaces)
    ]
    assert not any(item.get("AssociatePublicIpAddress") for item in interfaces)


def assert_bought_as(kind: Kind, region: str, number: int, launched: Mapping[str, Any]) -> None:
    """Market, reservation and placement group follow from how the nodes are bought."""
    assert launched.get("InstanceMarketOptions", {}).get("MarketType") == MARKETS.get(kind.capacity)
    targets = {
        "reservation": {"CapacityReservationId": reservation_id(number)},
        "reservation in a placement group": {"CapacityReservationId": reservation_id(number)},
        "capacity block": {"CapacityReservationId": reservation_id(number)},
        "reservation group": {"CapacityReservationResourceGroupArn": group_arn(region, number)},
    }
    specification = launched.get("CapacityReservationSpecification", {})
    assert specification.get("CapacityReservationTarget") == targets.get(kind.capacity)
    if kind.capacity == "reservation in a placement group":
        assert launched["Placement"]["GroupName"] == placement_group(number)
        return
    # A reservation has its place already; without EFA nodes need none.
    has_efa = facts.instance_type(kind.instance_type).efa_interfaces > 0
    assert ("GroupName" in launched["Placement"]) is (has_efa and kind.capacity not in targets)
