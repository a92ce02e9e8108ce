"""Regions, their Availability Zone ids, and which instance type is offered in which zone.

Zone *ids* (``usw2-az4``) name the same place in every account; zone names (``us-west-2d``) do not, so Slipway
never uses them. An offering is a hint, not a promise: EC2 may open or close one any day, and it says nothing about
free capacity.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from slipway.facts.parallelcluster import parallelcluster_releases
from slipway.facts.rows import FrozenList, Row, Text, UnknownFact, find, load_rows, raw_rows, read_file


class Region(Row):
    """One AWS region that has Trainium or Inferentia2.

    Attributes:
        name: For example ``us-west-2``.
        availability_zone_ids: Its zone ids, sorted.
        without_eks: Those in which EKS puts no control plane: it refuses a cluster with a subnet there (Amazon EKS User
            Guide, "Subnet requirements for clusters", 2026-08).
        load_balancer_log_account: AWS account that writes access logs of load balancers; None for newer Regions, which
            have a service principal instead.
    """

    name: Text
    availability_zone_ids: FrozenList[Text]
    without_eks: FrozenList[Text] = ()
    load_balancer_log_account: Text | None = None

    @property
    def parallelcluster(self) -> bool:
        """Whether a ParallelCluster release that Slipway knows supports the region."""
        return any(self.name in release.regions for release in parallelcluster_releases().values())


class Offering(Row):
    """Where in one region EC2 offers one instance type.

    Attributes:
        instance_type: For example ``trn1.32xlarge``.
        region: For example ``us-west-2``.
        availability_zone_ids: Zones with the type; empty when the region does not have it.
        note: What to know about this offering, if anything.
    """

    instance_type: Text
    region: Text
    availability_zone_ids: FrozenList[Text]
    note: Text | None = None


@cache
def regions() -> Mapping[str, Region]:
    """Return every region with Trainium or Inferentia2 by name."""
    return load_rows(Region, "regions.yaml")


def region(name: str) -> Region:
    """Return one region.

    Raises:
        UnknownFact: Slipway knows no such region, or it has neither Trainium nor Inferentia2.
    """
    return find("region", name, regions())


@cache
def offerings() -> Mapping[tuple[str, str], Offering]:
    """Return every offering by (instance type, region). A pair that is absent is not offered."""
    found: dict[tuple[str, str], Offering] = {}
    # A row of the file covers all types that one region offers in the same zones.
    for row in raw_rows(read_file("offerings.yaml")):
        for instance_type in row.pop("instance_types"):
            offering = Offering.model_validate({**row, "instance_type": instance_type})
            found[offering.instance_type, offering.region] = offering
    return MappingProxyType(found)


def offering(instance_type: str, region: str) -> Offering:
    """Return where ``region`` offers ``instance_type``.

    Raises:
        UnknownFact: It does not, as far as Slipway knows; ``near`` names regions that do.
    """
    found = offerings().get((instance_type, region))
    if found is None:
        raise UnknownFact(f"an offering of {instance_type} in region", region, offering_regions(instance_type))
    return found


def offering_regions(instance_type: str) -> Mapping[str, Offering]:
    """Return the offerings of one instance type by region; empty for a type that is offered nowhere."""
    return MappingProxyType({row.region: row for row in offerings().values() if row.instance_type == instance_type})


def offered_zone_ids(instance_type: str, region: str) -> frozenset[str]:
    """Return the Availability Zone ids where ``region`` offers ``instance_type``; empty when it does not."""
    found = offerings().get((instance_type, region))
    return frozenset(found.availability_zone_ids) if found else frozenset()
