"""Says in a user's words what pydantic found wrong with a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.problems import Finding, Key, dotted, listed, near_name, shown


def schema_findings(error: ValidationError) -> Iterator[Finding]:
    """Yield a finding for each mistake of a recipe against its schema."""
    for details in error.errors(include_url=False):
        if details["type"] == "default_factory_not_called":
            continue  # a default that follows from a value that is wrong itself
        key, section = _located(details["loc"])
        if details["type"].startswith("union_tag"):
            key = (*key, "architecture")
        message, fix = _words(details, key, section)
        yield Finding(key, message, fix)


def _located(location: tuple[int | str, ...]) -> tuple[Key, type[BaseModel]]:
    """Take the names of the architectures out of pydantic's location; find the section of its last part."""
    key: Key = ()
    section: type[BaseModel] = Recipe
    candidates: list[type[BaseModel]] = []
    for part in map(str, location):
        chosen = [model for model in candidates if len(candidates) > 1 and part in _architectures(model)]
        if chosen:
            candidates = chosen
            continue
        section = candidates[0] if candidates else section
        key = (*key, part)
        field = section.model_fields.get(part)
        candidates = _sections_of(field.annotation) if field else []
    return key, section


def _architectures(section: type[BaseModel]) -> tuple[str, ...]:
    field = section.model_fields.get("architecture")
    return get_args(field.annotation) if field else ()


def _sections_of(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [section for inner in get_args(annotation) for section in _sections_of(inner)]


def _words(details: ErrorDetails, key: Key, section: type[BaseModel]) -> tuple[str, str]:
    """Say what is wrong and what to write instead."""
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    got = f"(got {shown(value)})"
    if kind == "extra_forbidden":
        words = "is not a known key", _other_place(key) or near_name(key[-1], section.model_fields)
    elif kind in {"literal_error", "union_tag_invalid"}:
        words = _choice(str(context.get("tag", value)), str(context.get("expected") or context["expected_tags"]))
    elif kind in _LIMITS:
        too, limit, beyond = _LIMITS[kind]
        words = f"is too {too} {got}", f"Write {beyond.format(context[limit])}."
    elif kind in _ABSENT:
        words = "is missing", _ABSENT[kind].format(key[-1])
    else:
        unforeseen = details["msg"][:1].lower() + details["msg"][1:]
        message, fix = _FORMS.get(kind, (unforeseen, "Correct the value."))
        words = f"{message} {got}", fix
    return words


def _choice(found: str, expected: str) -> tuple[str, str]:
    names = expected.replace("'", "").replace(" or ", ", ").split(", ")
    return f"must be {listed(names)} (got {shown(found)})", near_name(found, names)


_ABSENT = {
    "missing": "Add `{}:`.",
    "union_tag_not_found": "Add `architecture: llama`, or another one.",
}
_LIMITS = {
    "greater_than_equal": ("small", "ge", "{} or more"),
    "greater_than": ("small", "gt", "more than {}"),
    "less_than_equal": ("large", "le", "{} or less"),
    "less_than": ("large", "lt", "less than {}"),
}
_FORMS = {
    "int_type": ("must be a whole number", "Write digits only, without quotation marks."),
    "float_type": ("must be a number", "Write digits, for example `0.1` or `3e-4`, without quotation marks."),
    "bool_type": ("must be true or false", "Write `true` or `false`."),
    "string_pattern_mismatch": (
        "must be lower-case letters, digits, '.' and '-', 63 at most",
        "For example `llama-3-8b.v2`.",
    ),
    "string_type": ("must be text", "Put it in quotation marks."),
    "model_type": ("must be a section", "Write its keys on the lines below, indented by two spaces."),
    "model_attributes_type": ("must be a section", "Write its keys on the lines below, indented by two spaces."),
}


def _other_place(key: Key) -> str:
    """Say which section an otherwise known key belongs to."""
    places = [where for where, name in _all_fields(Recipe, ()) if name == key[-1] and where != key[:-1]]
    names = listed(dict.fromkeys(f"`{dotted(where)}`" if where else "the top level" for where in places))
    return f"It belongs to {names}." if places else ""


def _all_fields(section: type[BaseModel], parent: Key) -> Iterator[tuple[Key, str]]:
    for name, field in section.model_fields.items():
        yield parent, name
        for inner in _sections_of(field.annotation):
            yield from _all_fields(inner, (*parent, name))
