"""What machines in the VPC ask of AWS: which services need a VPC endpoint without NAT, and which buckets are AWS's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Literal

from slipway.facts.rows import Row, Text, load_rows, raw_rows, read_file

EnvironmentPart = Literal["slurm", "login_nodes", "accounting_database", "directory_service", "endpoint", "api_key"]
"""What of an environment asks: all nodes of the cluster, its login nodes, what reads the password of the accounting
database or of the directory, hosts and tasks of the endpoint, those of an endpoint with an API key."""


class ServiceUse(Row):
    """One service that one part of an environment asks.

    Attributes:
        part: Who asks.
        service: What follows `com.amazonaws.REGION.` in the name of the endpoint's service, for example ``ecr.dkr``.
        kind: Which kind of VPC endpoint leads to it.
        why: What for.
    """

    part: EnvironmentPart
    service: Text
    kind: Literal["interface", "gateway"]
    why: Text


class AwsBucket(Row):
    """A bucket of AWS that nodes or hosts read.

    Attributes:
        name: Its name, with ``{region}`` where that of the Region is.
        why: What is in it.
    """

    name: Text
    why: Text


@cache
def service_uses() -> tuple[ServiceUse, ...]:
    """Return which part asks which service."""
    return tuple(ServiceUse.model_validate(row) for row in raw_rows(read_file("vpc_endpoints.yaml")))


def services_of(parts: Collection[EnvironmentPart], kind: Literal["interface", "gateway"]) -> tuple[str, ...]:
    """Return the services that parts of an environment reach through one kind of VPC endpoint, sorted."""
    return tuple(sorted({use.service for use in service_uses() if use.part in parts and use.kind == kind}))


@cache
def aws_buckets() -> Mapping[str, AwsBucket]:
    """Return AWS's buckets by name."""
    return load_rows(AwsBucket, "aws_buckets.yaml")
