"""Rules about a VPC that is there already: as far as its section says it. `slipway preflight` asks AWS for the rest."""

from collections.abc import Iterator

from slipway.config.environment import Environment
from slipway.config.network import ExistingNetwork, ExistingSubnet
from slipway.config.problems import Finding, Path, listed
from slipway.config.rules.region import zones
from slipway.config.rules.registry import environment_rule
from slipway.config.section import InvalidPart

_EXISTING = ("network", "existing")
_OF_A_NEW_VPC = ("cidr", "private_subnet_prefix_length", "public_subnet_prefix_length", "nat_gateways", "s3_endpoint")


def _existing(environment: Environment) -> ExistingNetwork:
    """Return the section.

    Raises:
        InvalidPart: the environment makes a VPC of its own.
    """
    if environment.network.existing is None:
        raise InvalidPart("existing")
    return environment.network.existing


@environment_rule
def existing_network_complete(environment: Environment) -> Iterator[Finding]:
    """Beside an existing VPC there is nothing that describes a new one: no range, prefix lengths or NAT gateways."""
    _existing(environment)
    for name in _OF_A_NEW_VPC:
        if name in environment.network.model_fields_set:
            fix = "Remove it: network.existing has the range." if name == "cidr" else "Remove it."
            yield Finding(("network", name), "it describes a new VPC, and network.existing names one", fix)


@environment_rule
def existing_private_subnets_cover_zones(environment: Environment) -> Iterator[Finding]:
    """An existing VPC has one private subnet in each of the environment's zones."""
    yield from _one_each(environment, "private_subnets", _existing(environment).private_subnets)


@environment_rule
def existing_public_subnets_cover_zones(environment: Environment) -> Iterator[Finding]:
    """An existing VPC has one public subnet in each zone where the endpoint is public, and need have none otherwise."""
    subnets = _existing(environment).public_subnets
    if environment.has_public_endpoint or subnets:
        yield from _one_each(environment, "public_subnets", subnets)


@environment_rule
def existing_subnets_distinct(environment: Environment) -> Iterator[Finding]:
    """Each existing subnet is named once."""
    seen: set[str] = set()
    existing = _existing(environment)
    for name, subnets in (("private_subnets", existing.private_subnets), ("public_subnets", existing.public_subnets)):
        for index, subnet in enumerate(subnets):
            if subnet.id in seen:
                yield Finding((*_EXISTING, name, index, "id"), f"{subnet.id} appears twice", "Write another subnet.")
            seen.add(subnet.id)


def _one_each(environment: Environment, name: str, subnets: tuple[ExistingSubnet, ...]) -> Iterator[Finding]:
    path: Path = (*_EXISTING, name)
    wanted = [zone for _, zone in zones(environment)]
    seen: set[str] = set()
    for index, subnet in enumerate(subnets):
        zone, here = subnet.availability_zone_id, (*path, index, "availability_zone_id")
        if zone not in wanted:
            fix = f"Write {listed(wanted)}, or add it to network.other_availability_zone_ids."
            yield Finding(here, f"{zone} is not a zone of the environment", fix)
        elif zone in seen:
            yield Finding(here, f"{zone} has a subnet already", "Leave one of them out: one in each zone is used.")
        seen.add(zone)
    missing = [zone for zone in wanted if zone not in seen]
    if missing:
        message = f"there is no subnet in {listed(missing, 'and')}"
        yield Finding(path, message, f"Add one for each: {{id: subnet-..., availability_zone_id: {missing[0]}}}.")
