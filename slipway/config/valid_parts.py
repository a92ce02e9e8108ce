"""Builds as much of an environment as is valid, so that rules about good sections run beside errors in bad ones."""

from collections.abc import Set as AbstractSet
from typing import Any

from pydantic.fields import FieldInfo

from slipway.config.environment import Environment
from slipway.config.fields import holds_list, is_tag_of, sections_in
from slipway.config.problems import Path
from slipway.config.section import Section


class _Absent:
    """Stands for the value of a field that is not valid."""


class _Invalid:
    """What is wrong, found by path in one step however much it is."""

    def __init__(self, paths: AbstractSet[Path]) -> None:
        self.paths = paths
        self.at_or_below = {path[:length] for path in paths for length in range(1, len(path) + 1)}


def valid_parts(value: dict[str, Any], invalid: AbstractSet[Path]) -> Environment:
    """Build an environment that lacks every field that is not valid.

    Args:
        value: The file's values.
        invalid: Paths of everything that is wrong. Whatever is not named here fits its field.

    Returns:
        An environment; reading a field that is absent from it raises `InvalidPart`.
    """
    environment = _section(Environment, value, (), _Invalid(invalid))
    assert isinstance(environment, Environment)
    return environment


def _section(section: type[Section], value: object, path: Path, invalid: _Invalid) -> Section:
    usable = isinstance(value, dict) and path not in invalid.paths
    found = {
        name: _field(field, value, (*path, name), invalid) if usable else _Absent
        for name, field in section.model_fields.items()
    }
    written = {name for name in found if name in value} if isinstance(value, dict) else set()
    part = section.model_construct(written, **{name: item for name, item in found.items() if item is not _Absent})
    for name, item in found.items():
        if item is _Absent:
            part.__dict__.pop(name, None)  # model_construct has put the default there
    return part


def _field(field: FieldInfo, holder: Any, path: Path, invalid: _Invalid) -> Any:
    if path in invalid.paths:
        return _Absent
    if path[-1] not in holder:
        return _Absent if field.is_required() else field.get_default(call_default_factory=True)
    value = holder[path[-1]]
    sections = sections_in(field.annotation)
    if value is None or not sections:
        return _Absent if path in invalid.at_or_below else value
    if holds_list(field.annotation):
        return tuple(_section(sections[0], item, (*path, index), invalid) for index, item in enumerate(value))
    if len(sections) > 1:
        sections = tuple(section for section in sections if is_tag_of(section, value.get("type")))
    return _section(sections[0], value, path, invalid) if sections else _Absent
