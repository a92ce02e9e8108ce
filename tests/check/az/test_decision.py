"""Which zones are chosen, with the offerings that EC2 listed (moto) and what a test adds."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest

from slipway.check.az.account_evidence import account_evidence
from slipway.check.az.decision import Decision, NoZoneFitsError, decide
from slipway.check.az.evidence import offline_evidence
from slipway.check.az.wanted import read_wanted
from slipway.check.preflight.block_offers import MOST_INSTANCES
from slipway.config import InvalidEnvironment
from tests.check.az.account import environment_file, with_changes
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.well_launches import in_days, reservation, reservations
from tests.config.files import Values

RESERVATION = "cr-0123456789abcdef0"
QUEUE = "training.queues.0"


def chosen(path: Path, aws: Aws) -> Decision:
    wanted = read_wanted(path)
    return decide(wanted, account_evidence(wanted, aws.account()))


def test_the_only_zone_with_a_type_is_chosen(tmp_path: Path, aws: Aws) -> None:
    decision = chosen(environment_file(tmp_path), aws)
    assert decision.training == "usw2-az4"
    assert decision.others == ("usw2-az3", "usw2-az2")
    assert decision.reasons[0] == "usw2-az4 offers trn1n.32xlarge and m6i.2xlarge (which no other zone has all)"


@pytest.mark.parametrize("named", ["usw2-az1", "usw2-az4"])
def test_a_zone_that_fits_stays(named: str, tmp_path: Path, aws: Aws) -> None:
    changes = {"network": {"training_availability_zone_id": named, "other_availability_zone_ids": ["usw2-az3"]}}
    decision = chosen(with_changes(tmp_path, changes), aws)
    assert (decision.training, decision.others) == (named, ("usw2-az3",))


@pytest.mark.parametrize("network", [{"cidr": "10.0.0.0/16"}, {"training_availability_zone_id": "us-west-2d"}])
def test_zones_need_not_be_there_before(network: Values, tmp_path: Path, aws: Aws) -> None:
    decision = chosen(with_changes(tmp_path, {"network": network}), aws)
    assert (decision.training, decision.others) == ("usw2-az1", ("usw2-az2",))


def test_an_other_zone_is_not_taken_for_the_training_zone(tmp_path: Path, aws: Aws) -> None:
    """Of the two lines one was taken out."""
    path = with_changes(tmp_path, {"network": {"other_availability_zone_ids": ["usw2-az4"]}})
    decision = chosen(path, aws)
    assert (decision.training, decision.others) == ("usw2-az1", ("usw2-az4",))


def test_what_else_is_wrong_in_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidEnvironment, match="capacity_gib"):
        read_wanted(with_changes(tmp_path, {"storage.lustre.capacity_gib": "much"}))


def test_what_serves_must_be_offered_somewhere(tmp_path: Path, aws: Aws) -> None:
    """In us-east-1 inf2 is missing in az1 and az3, trn1.32xlarge there and in az2."""
    network = {"training_availability_zone_id": "use1-az1", "other_availability_zone_ids": ["use1-az3"]}
    path = with_changes(tmp_path, {"region": "us-east-1", "network": network})
    wanted = read_wanted(path)
    decision = decide(wanted, offline_evidence(wanted))
    assert decision.training == "use1-az4"
    assert any(reason.startswith("inf2.xlarge is offered in use1-az4") for reason in decision.reasons)


@pytest.mark.parametrize("part", ["storage.lustre", QUEUE])
def test_a_zone_that_a_part_names_for_itself_is_the_training_zone(part: str, tmp_path: Path, aws: Aws) -> None:
    changes = without_zones() | {f"{part}.availability_zone_id": "usw2-az4"}
    assert chosen(with_changes(tmp_path, changes), aws).training == "usw2-az4"
    with pytest.raises(NoZoneFitsError, match="usw2-az1: the file system or a queue names usw2-az2"):
        chosen(with_changes(tmp_path, changes | {f"{part}.availability_zone_id": "usw2-az2"}), aws)


def reserved(folder: Path) -> Path:
    return with_changes(folder, {f"{QUEUE}.capacity_reservation_id": RESERVATION})


def test_a_reservation_pins_its_zone(tmp_path: Path, aws: Aws) -> None:
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(
        reservation(RESERVATION, AvailabilityZoneId="usw2-az1")
    )
    decision = chosen(reserved(tmp_path), aws)
    assert decision.training == "usw2-az1"
    assert f"it has {RESERVATION}" in decision.reasons


def test_a_reservation_that_has_ended_pins_nothing(tmp_path: Path, aws: Aws) -> None:
    """EC2 describes it for some time more."""
    ended = reservation(RESERVATION, AvailabilityZoneId="usw2-az2", State="expired")
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(ended)
    wanted = read_wanted(reserved(tmp_path))
    evidence = account_evidence(wanted, aws.account())
    assert decide(wanted, evidence).training == "usw2-az4"
    assert f"{RESERVATION} is not in us-west-2, or has ended." in evidence.notes


def test_a_reservation_where_the_type_is_not_fits_nowhere(tmp_path: Path, aws: Aws) -> None:
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(
        reservation(RESERVATION, AvailabilityZoneId="usw2-az2")
    )
    with pytest.raises(NoZoneFitsError, match=rf"usw2-az1: {RESERVATION} is in usw2-az2\n  usw2-az2: no trn1.32xlarge"):
        chosen(reserved(tmp_path), aws)


def test_offers_of_blocks_decide_where_nodes_are_bought_in_blocks(tmp_path: Path, aws: Aws) -> None:
    offer: Mapping[str, Any] = {
        "CapacityBlockOfferingId": "cb-1",
        "InstanceType": "trn1.32xlarge",
        "AvailabilityZone": "us-west-2b",
        "InstanceCount": 1,
        "StartDate": in_days(1),
        "EndDate": in_days(2),
        "UpfrontFee": "500.00",
    }
    aws.replies["ec2.DescribeCapacityBlockOfferings"] = {"CapacityBlockOfferings": [offer]}
    aws.replies["ec2.DescribeCapacityReservations"] = reservations()
    block = {
        f"{QUEUE}.capacity_type": "capacity_block",
        f"{QUEUE}.capacity_reservation_id": RESERVATION,
        f"{QUEUE}.compute_resources.0.min_count": 100,
        f"{QUEUE}.compute_resources.0.max_count": 100,
    }
    path = with_changes(tmp_path, block)
    wanted = read_wanted(path)
    evidence = account_evidence(wanted, aws.account())
    assert f"{RESERVATION} is not in us-west-2, or has ended." in evidence.notes
    asked = next(call.parameters for call in aws.calls if call.operation == "DescribeCapacityBlockOfferings")
    # No larger one than EC2 sells: of several, the zone is the same.
    assert asked["InstanceCount"] == MOST_INSTANCES
    decision = decide(wanted, evidence)
    assert decision.training == "usw2-az1"
    assert "it has Capacity Blocks of trn1.32xlarge" in decision.reasons
    assert decide(wanted, replace(evidence, deployed=frozenset({"usw2-az4"}))).training == "usw2-az4"


def without_zones(**queue: object) -> Values:
    return {"network": {"cidr": "10.0.0.0/16"}, **{f"{QUEUE}.{key}": value for key, value in queue.items()}}


def test_the_lower_spot_price_decides_when_no_zone_is_named(tmp_path: Path, aws: Aws) -> None:
    def price(zone: str, usd: str) -> Mapping[str, str]:
        return {"AvailabilityZone": zone, "InstanceType": "trn1.32xlarge", "SpotPrice": usd}

    aws.replies["ec2.DescribeSpotPriceHistory"] = {
        "SpotPriceHistory": [
            price("us-west-2b", "9.5"),
            price("us-west-2d", "6.5"),
            price("us-west-2b", "1.0"),
        ]
    }
    assert chosen(with_changes(tmp_path, without_zones(capacity_type="spot")), aws).training == "usw2-az4"
    asked = next(call.parameters for call in aws.calls if call.operation == "DescribeSpotPriceHistory")
    # Ninety days of prices are thousands of pages.
    assert (datetime.now(UTC) - asked["StartTime"]).total_seconds() < 600


def test_a_file_system_of_the_account_proves_its_zone(tmp_path: Path, aws: Aws) -> None:
    ec2 = boto3.client("ec2", "us-west-2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24", AvailabilityZoneId="usw2-az4")["Subnet"]["SubnetId"]
    aws.replies["fsx.DescribeFileSystems"] = {
        "FileSystems": [
            {
                "FileSystemType": "LUSTRE",
                "Lifecycle": "AVAILABLE",
                "SubnetIds": [subnet],
                "LustreConfiguration": {"DeploymentType": "PERSISTENT_2"},
            },
            # Beside it, as Slipway builds them.
            {"FileSystemType": "OPENZFS", "Lifecycle": "AVAILABLE", "SubnetIds": [subnet]},
        ]
    }
    decision = chosen(with_changes(tmp_path, without_zones()), aws)
    assert decision.training == "usw2-az4"
    assert "FSx for Lustre and FSx for OpenZFS of this account are there" in decision.reasons


def test_eks_takes_no_zone_that_it_refuses(tmp_path: Path) -> None:
    kubernetes = {"node_groups": [{"name": "trn1", "instance_type": "trn1.32xlarge"}]}
    changes = {"region": "us-east-1", "network": {"cidr": "10.0.0.0/16"}, "kubernetes": kubernetes}
    wanted = read_wanted(with_changes(tmp_path, changes))
    evidence = offline_evidence(wanted)
    assert next(zone for zone in evidence.zones if zone.id == "use1-az3").refused_by_eks
    decision = decide(wanted, evidence)
    assert "use1-az3" not in (decision.training, *decision.others)


def test_a_refusal_of_one_thing_is_a_note(tmp_path: Path, aws: Aws) -> None:
    aws.replies["fsx.DescribeFileSystems"] = Refusal("AccessDeniedException")
    aws.replies["ec2.DescribeCapacityReservations"] = Refusal("ThrottlingException")
    wanted = read_wanted(reserved(tmp_path))
    evidence = account_evidence(wanted, aws.account())
    assert [note.partition(":")[0] for note in evidence.notes[:2]] == [
        "Reservations are not known",
        "Zones of file systems are not known",
    ]
    assert decide(wanted, evidence).training == "usw2-az4"


def test_moto_and_the_facts_agree(tmp_path: Path, aws: Aws) -> None:
    wanted = read_wanted(environment_file(tmp_path))
    asked = {zone.id: zone.offered for zone in account_evidence(wanted, aws.account()).zones}
    assert asked == {zone.id: zone.offered for zone in offline_evidence(wanted).zones}
