"""What CloudFormation's public resource schemas say of a type, read from the copies that cfn-lint ships."""

from collections.abc import Mapping
from functools import cache
from typing import Any

_PREFIX = "/properties/"


@cache
def _schema(resource_type: str, region: str) -> Mapping[str, Any]:
    # Imported when a first update asks for it: half a second that every start does without.
    from cfnlint.schema import (  # type: ignore[import-untyped]  # noqa: PLC0415
        PROVIDER_SCHEMA_MANAGER,
        ResourceNotFoundError,
    )

    try:
        return dict(PROVIDER_SCHEMA_MANAGER.get_resource_schema(region, resource_type).schema)
    except ResourceNotFoundError:
        return {}


@cache
def _create_only_paths(resource_type: str, region: str) -> tuple[tuple[str, ...], ...]:
    paths = _schema(resource_type, region).get("createOnlyProperties", [])
    return tuple(tuple(path.removeprefix(_PREFIX).split("/")) for path in paths)


def replacing_properties(
    resource_type: str, region: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[str]:
    """Top-level properties whose difference makes CloudFormation replace the resource.

    Args:
        resource_type: Such as ``AWS::EC2::Subnet``; a type without a schema is never replaced.
        region: Where the schema is valid.
        before: The resource's properties so far.
        after: The properties it shall have.
    """
    return sorted(
        {path[0] for path in _create_only_paths(resource_type, region) if _at(before, path) != _at(after, path)}
    )


def _at(value: Any, path: tuple[str, ...]) -> Any:
    """The value at a schema path; a list's items (``*``) count as a whole."""
    for name in path:
        if not isinstance(value, Mapping):
            return value
        value = value.get(name)
    return value
