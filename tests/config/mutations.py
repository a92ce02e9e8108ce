"""Random ways to break a valid environment: each names the field that a message must name."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from slipway.config import Environment
from slipway.config.fields import holds_list, is_tag_of, sections_in
from slipway.config.problems import Path
from slipway.config.section import Section

Values = dict[str, Any]

_WRONG: dict[type, list[Any]] = {
    str: [[], {}, 5, 2.5, True, [["x"]]],
    bool: ["yes", 1, [], {}],
    int: ["many", 1.5, True, [], {}, "7"],
    float: ["many", True, [], {}, "7.5"],
    list: ["text", 5, True, {"a": 1}],
    dict: ["text", 5, False, ["a"]],
}


@dataclass(frozen=True)
class Mutation:
    """A broken environment."""

    values: Values
    path: Path
    what: str


def mutations(values: Values) -> st.SearchStrategy[Mutation]:
    """Break valid values in one place."""
    return st.sampled_from(list(_mutations(values)))


def _mutations(values: Values) -> Iterator[Mutation]:
    for path, section, holder in _sections(Environment, values, ()):
        yield Mutation(_with(values, (*path, "zzz"), 1), (*path, "zzz"), "unknown key")
        for name, field in section.model_fields.items():
            here = (*path, name)
            if name in holder:
                if field.is_required():
                    yield Mutation(_without(values, here), here, "required key is missing")
                for wrong in _wrong_values(field, holder[name]):
                    yield Mutation(_with(values, here, wrong), here, f"wrong value {wrong!r}")
    for key in values.get("tags", ()):
        for wrong in _WRONG[str]:
            here = ("tags", key)
            yield Mutation(_with(values, here, wrong), here, f"wrong value {wrong!r}")


def _sections(section: type[Section], values: Values, path: Path) -> Iterator[tuple[Path, type[Section], Values]]:
    """Yield every section that the values have."""
    yield path, section, values
    for name, field in section.model_fields.items():
        inner = sections_in(field.annotation)
        if name not in values or not inner:
            continue
        below = enumerate(values[name]) if holds_list(field.annotation) else [(None, values[name])]
        for index, value in below:
            here = (*path, name) if index is None else (*path, name, index)
            chosen = next(one for one in inner if len(inner) == 1 or is_tag_of(one, value["type"]))
            yield from _sections(chosen, value, here)


def _wrong_values(field: FieldInfo, value: Any) -> Iterator[Any]:
    tag = get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1
    if not tag:  # another type of the tag is another section's
        yield from _WRONG[type(value)]
    if get_origin(field.annotation) is Literal:
        yield "zzz"
        yield 4
    for bound in field.metadata:
        if isinstance(bound, Ge):
            yield int(str(bound.ge)) - 1
        if isinstance(bound, Gt):
            yield int(str(bound.gt))
        if isinstance(bound, Le):
            yield int(str(bound.le)) + 1


def _with(values: Values, path: Path, value: Any) -> Values:
    result = copy.deepcopy(values)
    _holder(result, path)[path[-1]] = value
    return result


def _without(values: Values, path: Path) -> Values:
    result = copy.deepcopy(values)
    del _holder(result, path)[path[-1]]
    return result


def _holder(values: Any, path: Path) -> Any:
    for part in path[:-1]:
        values = values[part]
    return values
