"""What every step of the layout works on."""

from collections.abc import Mapping
from dataclasses import dataclass

from slipway.review.report.architecture.difference import Mark
from slipway.review.report.architecture.model import Architecture, Part, Subnet
from slipway.review.report.picture.cards import CardMaker
from slipway.review.report.picture.shapes import Layout


@dataclass(frozen=True)
class Sheet:
    """A picture that is being laid out.

    Attributes:
        architecture: what it shows.
        marks: what happens to parts, subnets and the VPC, by id.
        maker: makes its cards.
        layout: what has its place already.
    """

    architecture: Architecture
    marks: Mapping[str, Mark]
    maker: CardMaker
    layout: Layout

    def at_place(self, place: str) -> tuple[Part, ...]:
        """Return the parts with this place, in order."""
        return tuple(part for part in self.architecture.parts if part.place == place)

    def subnets(self, *, public: bool) -> list[Subnet]:
        """Return the public or the private subnets."""
        return [subnet for subnet in self.architecture.subnets if subnet.is_public is public]

    def in_subnets(self, *, public: bool) -> list[Part]:
        """Return the parts whose first subnet is public, or private."""
        known = {subnet.id for subnet in self.subnets(public=public)}
        return [part for part in self.at_place("subnets") if part.subnets[0] in known]

    def zones(self) -> list[str]:
        """Return the zones, those with the most parts of their own first."""
        counts = dict.fromkeys((subnet.zone for subnet in self.architecture.subnets), 0)
        for part in self.architecture.parts:
            here = self.zones_of(part)
            if len(here) == 1:
                counts[here[0]] += 1
        return sorted(counts, key=lambda zone: -counts[zone])

    def zones_of(self, part: Part) -> list[str]:
        """Return the zones of a part's subnets."""
        return list(dict.fromkeys(subnet.zone for subnet in self.architecture.subnets if subnet.id in part.subnets))

    def mark_of(self, subnets: list[Subnet]) -> Mark | None:
        """Return what happens to subnets that are drawn as one."""
        return next((self.marks[subnet.id] for subnet in subnets if subnet.id in self.marks), None)
