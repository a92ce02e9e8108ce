"""What AWS says about the zones of a Region: EC2's offerings, reservations, prices and blocks, FSx's file systems."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from slipway import facts
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.az.evidence import FILE_SYSTEMS_NOTE, Evidence, Zone
from slipway.check.az.wanted import Wanted
from slipway.check.preflight.block_offers import MOST_INSTANCES, block_offers
from slipway.check.preflight.reservations import read_reservation, reservation_ids
from slipway.check.preflight.zones import zone_ids_by_name

_Found = TypeVar("_Found")

_LUSTRE_DEPLOYMENT = "PERSISTENT_2"
_ENDED = frozenset({"cancelled", "expired", "failed", "payment-failed"})
"""States of reservations that EC2 still describes, and that hold nothing."""

_FILE_SYSTEMS = {"LUSTRE": "FSx for Lustre", "OPENZFS": "FSx for OpenZFS"}


def account_evidence(wanted: Wanted, account: Account) -> Evidence:
    """Ask AWS. Offerings are required. What else it refuses to answer becomes a note.

    Raises:
        ClientError: EC2 refuses to list zones or offerings.
        BotoCoreError: there are no credentials, or EC2 does not answer.
    """
    names = zone_ids_by_name(account)
    offered = _offered(wanted, account)
    notes: list[str] = []

    def ask(what: str, question: Callable[[], dict[str, _Found]]) -> dict[str, _Found]:
        try:
            return question()
        except UNANSWERED as error:
            notes.append(f"{what} are not known: {error}")
            return {}

    reserved = ask("Reservations", lambda: _reservations(wanted, account))
    deployed = ask("Zones of file systems", lambda: _file_systems(account))
    spot = ask("Spot prices", lambda: _spot_prices(wanted, account, names))
    own = ask("Subnets of the environment", lambda: _own_subnets(wanted, account))
    blocks = ask("Offers of Capacity Blocks", lambda: _blocks(wanted, account))
    refused = facts.region(wanted.region).without_eks if wanted.region in facts.regions() else ()
    zones = tuple(
        Zone(
            id=zone,
            offered=frozenset(offered.get(zone, ())),
            reservations=tuple(reserved.get(zone, ())),
            file_systems=frozenset(deployed.get(zone, ())),
            spot_usd=spot.get(zone, {}),
            blocks=blocks.get(zone, {}),
            refused_by_eks=zone in refused,
        )
        for zone in sorted(names.values())
    )
    in_region = {target for targets in reserved.values() for target in targets}
    if wanted.reservations and not any(note.startswith("Reservations") for note in notes):
        notes += [
            f"{target} is not in {wanted.region}, or has ended."
            for target in wanted.reservations
            if target not in in_region
        ]
    proven = {kind for zone in zones for kind in zone.file_systems}
    if not proven.issuperset(wanted.file_systems):
        notes.append(FILE_SYSTEMS_NOTE)
    return Evidence("asked AWS", zones, tuple(notes), frozenset(own))


def _offered(wanted: Wanted, account: Account) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for offering in account.listing(
        "ec2",
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        LocationType="availability-zone-id",
        Filters=[{"Name": "instance-type", "Values": list(wanted.instance_types)}],
    ):
        found.setdefault(offering["Location"], []).append(offering["InstanceType"])
    return found


def _reservations(wanted: Wanted, account: Account) -> dict[str, list[str]]:
    """Return the targets that have a reservation in a zone, by the zone."""
    found: dict[str, list[str]] = {}
    for target in wanted.reservations:
        for reservation_id in reservation_ids(account, target) or ():
            reservation = read_reservation(account, reservation_id)
            if (
                reservation
                and reservation.state not in _ENDED
                and target not in found.setdefault(reservation.zone_id, [])
            ):
                found[reservation.zone_id].append(target)
    return found


def _file_systems(account: Account) -> dict[str, set[str]]:
    """Return the kinds of file system that stand in a zone; of Lustre those with the deployment type in use."""
    kinds: dict[str, set[str]] = {}
    for system in account.listing("fsx", "describe_file_systems", "FileSystems"):
        kind = _FILE_SYSTEMS.get(system["FileSystemType"])
        deployment = system.get("LustreConfiguration", {}).get("DeploymentType", _LUSTRE_DEPLOYMENT)
        if kind and deployment == _LUSTRE_DEPLOYMENT and system["Lifecycle"] == "AVAILABLE":
            for subnet_id in system["SubnetIds"]:
                kinds.setdefault(subnet_id, set()).add(kind)
    found: dict[str, set[str]] = {}
    if kinds:
        for subnet in account.listing("ec2", "describe_subnets", "Subnets", SubnetIds=sorted(kinds)):
            found.setdefault(subnet["AvailabilityZoneId"], set()).update(kinds[subnet["SubnetId"]])
    return found


def _own_subnets(wanted: Wanted, account: Account) -> dict[str, list[str]]:
    """Return the subnets that the environment has already, by their zone."""
    tag = {"Name": f"tag:{ENVIRONMENT_TAG}", "Values": [wanted.environment]}
    found: dict[str, list[str]] = {}
    for subnet in account.listing("ec2", "describe_subnets", "Subnets", Filters=[tag]):
        found.setdefault(subnet["AvailabilityZoneId"], []).append(subnet["SubnetId"])
    return found


def _spot_prices(wanted: Wanted, account: Account, names: dict[str, str]) -> dict[str, dict[str, float]]:
    """Return the price of each type in each zone: since now, for EC2 returns ninety days of prices otherwise."""
    found: dict[str, dict[str, float]] = {}
    if wanted.spot:
        for price in account.listing(
            "ec2",
            "describe_spot_price_history",
            "SpotPriceHistory",
            StartTime=datetime.now(UTC),
            InstanceTypes=list(wanted.spot),
            ProductDescriptions=["Linux/UNIX"],
        ):
            zone = found.setdefault(names.get(price["AvailabilityZone"], ""), {})
            zone.setdefault(price["InstanceType"], float(price["SpotPrice"]))
    return found


def _blocks(wanted: Wanted, account: Account) -> dict[str, dict[str, str]]:
    """Return the cheapest offer for each type in each zone."""
    found: dict[str, dict[str, str]] = {}
    for instance_type, count in wanted.blocks:
        for offer in block_offers(account, instance_type, min(count, MOST_INSTANCES)):
            found.setdefault(offer.zone_id, {}).setdefault(instance_type, str(offer))
    return found
