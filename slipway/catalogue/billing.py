"""How resource types bill: what exists in a template and costs money, what is free, and what depends on use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict

from slipway.catalogue.services import resource_types
from slipway.facts.rows import FrozenList, Row, Text


class Charge(BaseModel):
    """Something that bills.

    Attributes:
        what: In the reader's words, for example ``NAT gateway``.
        item: Name of its price (see ``price``); none where Slipway keeps no price of it.
        when: Name of a property, at any depth, without which it does not bill; none means always.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    what: Text
    item: Text | None = None
    when: Text | None = None


class Billing(Row):
    """How one resource type bills.

    Attributes:
        resource_type: For example ``AWS::EC2::NatGateway``.
        why: What of it bills, or why it is free, as a sentence.
        each: What every resource of the type bills while it exists.
        measured: Whether more of what it bills depends on its properties: ``slipway.review.cost`` reads them.
        by_use: What bills by requests, bytes or seconds.
    """

    resource_type: Text
    why: Text
    each: FrozenList[Charge] = ()
    measured: bool = False
    by_use: FrozenList[Charge] = ()

    @property
    def free(self) -> bool:
        """Whether it costs nothing by itself."""
        return not (self.each or self.measured or self.by_use)


@cache
def billings() -> Mapping[str, Billing]:
    """Return how every resource type that Slipway's templates have bills, by type."""
    entries = resource_types().items()
    rows = [Billing(resource_type=name, **entry.billing) for name, entry in entries if entry.billing]
    return MappingProxyType({row.resource_type: row for row in rows})
