"""FSx for Lustre deployment types: allowed sizes, throughputs and versions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import Field

from slipway.facts.rows import FrozenList, Row, Text, find, load_rows

_PositiveCount = Annotated[int, Field(ge=1)]
_Port = Annotated[int, Field(ge=1, le=65535)]


class LustreDeployment(Row):
    """One FSx for Lustre deployment type on SSD storage.

    Attributes:
        name: The FSx API's name, for example ``PERSISTENT_2``.
        throughputs: Allowed throughput tiers in MB/s per TiB.
        smallest_capacity_gib: The one allowed capacity below the step.
        capacity_step_gib: Every multiple of it is an allowed capacity. A file system can grow, never shrink.
        lustre_versions: Allowed Lustre versions.
        default_lustre_version: The version to choose.
        max_data_repository_associations: Links to S3 on one file system.
        ports: TCP port ranges that clients and file servers need in both directions, each as (first, last).
        note: What the facts do not tell.
    """

    name: Text
    throughputs: FrozenList[_PositiveCount]
    smallest_capacity_gib: _PositiveCount
    capacity_step_gib: _PositiveCount
    lustre_versions: FrozenList[Text]
    default_lustre_version: Text
    max_data_repository_associations: _PositiveCount
    ports: FrozenList[FrozenList[_Port]]
    note: Text

    def allows_capacity(self, gib: int) -> bool:
        """Whether a file system of ``gib`` GiB can be created."""
        return gib == self.smallest_capacity_gib or (gib > 0 and gib % self.capacity_step_gib == 0)

    def capacity_from(self, gib: float) -> int:
        """Return the smallest allowed capacity of at least ``gib`` GiB."""
        if gib <= self.smallest_capacity_gib:
            return self.smallest_capacity_gib
        return math.ceil(gib / self.capacity_step_gib) * self.capacity_step_gib


@cache
def lustre_deployments() -> Mapping[str, LustreDeployment]:
    """Return every deployment type by name."""
    return load_rows(LustreDeployment, "lustre_deployments.yaml")


def lustre_deployment(name: str) -> LustreDeployment:
    """Return one deployment type.

    Raises:
        UnknownFact: Slipway uses no such deployment type.
    """
    return find("FSx for Lustre deployment type", name, lustre_deployments())
