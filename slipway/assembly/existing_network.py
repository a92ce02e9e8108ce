"""The existing VPC of an environment, as the network stack's metadata describes it.

No template has such a VPC as a resource, so the tools read it here.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

NETWORK_METADATA = "Slipway::ExistingNetwork"
"""Key of a template's metadata whose value is an `ExistingNetwork`, as a mapping."""

ADDRESSES_METADATA = "Slipway::Addresses"
"""Key of the metadata of a template that puts nodes or file systems into an existing VPC: the addresses that it can
need in the training zone's private subnet. Each stack has its own share, so that a change of one changes no other."""


class ExistingSubnet(BaseModel):
    """A subnet of an existing VPC."""

    model_config = ConfigDict(frozen=True)

    id: str
    zone_id: str
    """Availability Zone id, for example `usw2-az4`."""

    public: bool

    training: bool
    """Whether nodes and file systems are in it."""


class NeededEndpoint(BaseModel):
    """A VPC endpoint without which machines in an isolated VPC do not reach a service."""

    model_config = ConfigDict(frozen=True)

    service: str
    """What follows `com.amazonaws.REGION.` in its name, for example `ecr.dkr`."""

    kind: Literal["interface", "gateway"]


class ExistingNetwork(BaseModel):
    """An existing VPC."""

    model_config = ConfigDict(frozen=True)

    vpc_id: str
    cidr: str
    subnets: tuple[ExistingSubnet, ...]

    endpoints: tuple[NeededEndpoint, ...] = ()
    """What it needs in place of a way to the internet. Empty where there is one."""


def existing_network(templates: Iterable[Mapping[str, Any]]) -> ExistingNetwork | None:
    """Return the existing VPC that the templates of an environment use. None if they make their own."""
    for template in templates:
        found = template.get("Metadata", {}).get(NETWORK_METADATA)
        if found:
            return ExistingNetwork.model_validate(found)
    return None
