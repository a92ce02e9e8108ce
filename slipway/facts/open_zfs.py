"""FSx for OpenZFS deployment types: allowed sizes and throughputs, and the ports of NFS."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import Field

from slipway.facts.rows import FrozenList, Row, Text, find, load_rows

_PositiveCount = Annotated[int, Field(ge=1)]
_Port = Annotated[int, Field(ge=1, le=65535)]


class OpenZfsDeployment(Row):
    """One FSx for OpenZFS deployment type on SSD storage.

    Attributes:
        name: The FSx API's name, for example ``SINGLE_AZ_1``.
        throughputs: Allowed throughput capacities in MB/s.
        smallest_capacity_gib: The least storage capacity.
        largest_capacity_gib: The most storage capacity. A file system can grow, never shrink.
        ports: TCP and UDP port ranges that clients reach on the file server, each as (first, last).
        note: What the facts do not tell.
    """

    name: Text
    throughputs: FrozenList[_PositiveCount]
    smallest_capacity_gib: _PositiveCount
    largest_capacity_gib: _PositiveCount
    ports: FrozenList[FrozenList[_Port]]
    note: Text


@cache
def open_zfs_deployments() -> Mapping[str, OpenZfsDeployment]:
    """Return every deployment type by name."""
    return load_rows(OpenZfsDeployment, "open_zfs_deployments.yaml")


def open_zfs_deployment(name: str) -> OpenZfsDeployment:
    """Return one deployment type.

    Raises:
        UnknownFact: Slipway uses no such deployment type.
    """
    return find("FSx for OpenZFS deployment type", name, open_zfs_deployments())
