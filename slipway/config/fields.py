"""Finds the fields of the models by path, for messages, the reference and the reading of partly valid files."""

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from slipway.config.problems import Path
from slipway.config.section import Section


def sections_in(annotation: Any) -> tuple[type[Section], ...]:
    """Return the sections that a field of this type holds: none for a scalar, several for a choice of sections."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return (annotation,)
    return tuple(section for argument in get_args(annotation) for section in sections_in(argument))


def holds_list(annotation: Any) -> bool:
    """Return whether a field of this type is a list."""
    return get_origin(annotation) is tuple or any(holds_list(argument) for argument in get_args(annotation))


def is_tag_of(section: type[Section], tag: object) -> bool:
    """Return whether this section is the one that its `type` field calls `tag`."""
    field = section.model_fields.get("type")
    return field is not None and get_origin(field.annotation) is Literal and tag in get_args(field.annotation)


def all_fields(section: type[Section], path: Path = ()) -> Iterator[tuple[Path, FieldInfo]]:
    """Yield every field below a section with its path; a list's items have the index 0."""
    for name, field in section.model_fields.items():
        here = (*path, name)
        yield here, field
        inner = (*here, 0) if holds_list(field.annotation) else here
        for below in sections_in(field.annotation):
            yield from all_fields(below, inner)


def summary(field: FieldInfo) -> str:
    """Return the first sentence of a field's description."""
    return re.split(r"(?<=[.:;])\s", field.description or "", maxsplit=1)[0].rstrip(".:;")
