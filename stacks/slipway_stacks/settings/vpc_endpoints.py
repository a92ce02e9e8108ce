"""Which VPC endpoints an environment needs without NAT, from the facts about who asks which service."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from slipway import facts
from slipway.assembly.existing_network import NeededEndpoint
from slipway.config.endpoint import ApiKeyAuthentication
from slipway.config.environment import Environment
from slipway.config.rules.region import zones

_KINDS: Sequence[Literal["gateway", "interface"]] = ("gateway", "interface")
_HOSTS: Collection[facts.EnvironmentPart] = ("endpoint", "api_key")


def endpoint_zones(environment: Environment) -> Mapping[str, Sequence[str]]:
    """Return the zone ids that each service with an interface endpoint is asked from, by service, sorted.

    Nodes of the cluster are in the training zone, hosts of the endpoint in all.
    """
    of_hosts = facts.services_of([part for part in _parts(environment) if part in _HOSTS], "interface")
    everywhere = [zone for _, zone in zones(environment)]
    return {
        service: everywhere if service in of_hosts else [environment.network.training_availability_zone_id]
        for service in facts.services_of(list(_parts(environment)), "interface")
    }


def needed_endpoints(environment: Environment) -> tuple[NeededEndpoint, ...]:
    """Return all VPC endpoints that the environment needs, those of gateways first."""
    parts = list(_parts(environment))
    return tuple(
        NeededEndpoint(service=service, kind=kind) for kind in _KINDS for service in facts.services_of(parts, kind)
    )


def readable_buckets(environment: Environment) -> Sequence[str] | None:
    """Return the buckets of other accounts that the S3 endpoint lets be read. None for all."""
    named = environment.network.s3_endpoint.readable_buckets
    if named is None:
        return None
    return [*named, *(name.format(region=environment.region) for name in facts.aws_buckets())]


def _parts(environment: Environment) -> Iterator[facts.EnvironmentPart]:
    """Yield the parts that the environment has."""
    training, inference = environment.training, environment.inference
    if training:
        yield "slurm"
        if training.login_nodes:
            yield "login_nodes"
        if training.directory_service:
            yield "directory_service"
        if environment.storage.accounting_database:
            yield "accounting_database"
    if inference:
        yield "endpoint"
        if isinstance(inference.endpoint.authentication, ApiKeyAuthentication):
            yield "api_key"
