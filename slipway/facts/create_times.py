"""How long CloudFormation takes to create a resource, by type: means, for an estimate of a deployment's length."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from datetime import date
from functools import cache
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from slipway.facts.rows import Row, Text, data_file

# CloudFormation treats a type of this prefix as one of its custom resources.
_CUSTOM_PREFIX = "Custom::"
_CUSTOM_RESOURCE = "AWS::CloudFormation::CustomResource"


class CreateTime(Row):
    """The mean time CloudFormation takes to create one resource type.

    Attributes:
        resource_type: For example ``AWS::FSx::FileSystem``.
        create_seconds: The mean, in whole seconds. Single creations differ widely.
    """

    resource_type: Text
    create_seconds: Annotated[int, Field(ge=0)]


@cache
def create_times() -> Mapping[str, CreateTime]:
    """Return the create time of every resource type that Slipway's stacks use, by type."""
    with data_file("create_seconds.csv").open(encoding="utf-8", newline="") as stream:
        rows = [
            CreateTime(
                resource_type=row["resource_type"],
                create_seconds=int(row["create_seconds"]),
                source=row["source"],
                as_of=date.fromisoformat(row["as_of"]),
            )
            for row in csv.DictReader(stream)
        ]
    return MappingProxyType({row.resource_type: row for row in rows})


def create_seconds(resource_type: str) -> int | None:
    """Return the mean seconds to create a resource, or none for a type without a row.

    A ``Custom::`` type without a row of its own takes as long as custom resources do on average.
    """
    known = create_times()
    found = known.get(resource_type)
    if found is None and resource_type.startswith(_CUSTOM_PREFIX):
        found = known[_CUSTOM_RESOURCE]
    return found.create_seconds if found else None
