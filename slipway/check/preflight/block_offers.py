"""Offers of EC2 Capacity Blocks for ML: what can be bought when, where and for how much."""

from dataclasses import dataclass
from datetime import UTC, datetime

from slipway.aws.account import Account

SHORTEST_HOURS = 24
"""The shortest block; longer ones go by days (Amazon EC2 User Guide, "Capacity Blocks for ML", 2026)."""


MOST_INSTANCES = 64
"""The largest block (Amazon EC2 API reference, DescribeCapacityBlockOfferings, InstanceCount)."""


@dataclass(frozen=True)
class BlockOffer:
    """One offer.

    Attributes:
        id: what is bought, for example `cb-0123456789abcdef0`.
        zone_id: Availability Zone id.
        instance_type: EC2 instance type.
        instances: how many.
        start: when the block begins.
        end: when it ends.
        upfront_usd: its price; paid when it is bought.
    """

    id: str
    zone_id: str
    instance_type: str
    instances: int
    start: datetime
    end: datetime
    upfront_usd: float

    def __str__(self) -> str:
        """Say what is offered, in a line."""
        return (
            f"{self.instances} {self.instance_type} in {self.zone_id}, {self.start:%Y-%m-%d %H:%M} to "
            f"{self.end:%Y-%m-%d %H:%M} UTC, {self.upfront_usd:,.2f} USD"
        )


def block_offers(account: Account, instance_type: str, instances: int, hours: int = SHORTEST_HOURS) -> list[BlockOffer]:
    """Ask EC2 for offers that begin from now on, the cheapest first, and of equally cheap ones the earliest.

    Args:
        account: who is asked.
        instance_type: EC2 instance type.
        instances: size of the block, at most `MOST_INSTANCES`.
        hours: its length, a multiple of 24.

    Raises:
        ClientError: EC2 refuses to answer, or sells no blocks of the type in the Region.
    """
    # All zones: one that is short of capacity (`constrained`) still has blocks to sell.
    zones = account.listing("ec2", "describe_availability_zones", "AvailabilityZones")
    names = {zone["ZoneName"]: zone["ZoneId"] for zone in zones}
    pages = account.client("ec2").get_paginator("describe_capacity_block_offerings")
    offers = [
        BlockOffer(
            id=offer["CapacityBlockOfferingId"],
            zone_id=names.get(zone := offer.get("AvailabilityZone", "a zone that EC2 does not name"), zone),
            instance_type=instance_type,
            instances=offer["InstanceCount"],
            start=offer["StartDate"],
            end=offer["EndDate"],
            upfront_usd=float(offer["UpfrontFee"]),
        )
        for page in pages.paginate(
            InstanceType=instance_type,
            InstanceCount=instances,
            CapacityDurationHours=hours,
            StartDateRange=datetime.now(UTC),
        )
        for offer in page["CapacityBlockOfferings"]
    ]
    return sorted(offers, key=lambda offer: (offer.upfront_usd, offer.start))
