"""How long CloudFormation takes to create a resource, by type: means, for an estimate of a deployment's length."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field

from slipway.catalogue.services import resource_types
from slipway.facts.rows import Row, Text

# CloudFormation treats a type of this prefix as one of its custom resources.
_CUSTOM_PREFIX = "Custom::"
_CUSTOM_RESOURCE = "AWS::CloudFormation::CustomResource"

_USUAL_SOURCE = "aws-cloudformation/rain, internal/cmd/forecast/estimate.go: historical mean"
_USUAL_DATE = date(2026, 11, 20)
"""Where a number comes from that states no source of its own."""


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
    rows = [_create_time(name, entry.create_seconds) for name, entry in resource_types().items()]
    return MappingProxyType({row.resource_type: row for row in rows if row})


def _create_time(name: str, stated: int | Mapping[str, Any] | None) -> CreateTime | None:
    if stated is None:
        return None
    if isinstance(stated, int):
        return CreateTime(resource_type=name, create_seconds=stated, source=_USUAL_SOURCE, as_of=_USUAL_DATE)
    return CreateTime(
        resource_type=name, create_seconds=stated["seconds"], source=stated["source"], as_of=stated["as_of"]
    )


def create_seconds(resource_type: str) -> int | None:
    """Return the mean seconds to create a resource, or none for a type without a row.

    A ``Custom::`` type without a row of its own takes as long as custom resources do on average.
    """
    known = create_times()
    found = known.get(resource_type)
    if found is None and resource_type.startswith(_CUSTOM_PREFIX):
        found = known[_CUSTOM_RESOURCE]
    return found.create_seconds if found else None
