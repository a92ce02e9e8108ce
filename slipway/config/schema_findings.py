"""Turns pydantic's errors into sentences for people: no regular expressions, no type theory, always a way out."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from slipway.config.document import Document
from slipway.config.environment import Environment
from slipway.config.fields import all_fields, is_tag_of, sections_in, summary
from slipway.config.problems import Finding, Path, dotted, listed, near_names, short, shown
from slipway.config.section import Section

_Words = tuple[str, str]
"""What is wrong, and what to write."""

_YES = ("yes", "on", "y", "1")
_NO = ("no", "off", "n", "0")


@dataclass(frozen=True)
class _Mistake:
    """One of pydantic's errors with what is needed to describe it."""

    kind: str
    value: Any
    context: dict[str, Any]
    path: Path
    sections: tuple[type[Section], ...]
    text: str | None

    @property
    def got(self) -> str:
        return f"(got {short(self.text) if self.text else shown(self.value)})"


def schema_findings(error: ValidationError, document: Document) -> Iterator[Finding]:
    """Describe each of pydantic's errors.

    Args:
        error: What validating the document's value raised.
        document: The file that was validated.
    """
    for details in error.errors(include_url=False):
        path, sections = _located(details["loc"])
        kind, context = details["type"], details.get("ctx", {})
        if kind.startswith("union_tag"):
            path = (*path, context["discriminator"].strip("'"))
        if kind == "too_short" and len(details["input"]) >= context["min_length"]:
            continue  # pydantic counts the valid items only; each invalid one has an error of its own
        mistake = _Mistake(kind, details["input"], context, path, sections, document.texts.get(path))
        message, fix = _DESCRIPTIONS.get(kind, _unforeseen(details))(mistake)
        yield Finding(path, message, fix, "schema", at_key=kind == "extra_forbidden")


def _located(location: tuple[int | str, ...]) -> tuple[Path, tuple[type[Section], ...]]:
    """Take the tags of unions out of pydantic's location, and find the sections that could hold its last part."""
    path: Path = ()
    holders: tuple[type[Section], ...] = ()
    here: tuple[type[Section], ...] = (Environment,)
    for part in location:
        tagged = tuple(section for section in here if is_tag_of(section, part))
        if tagged and len(here) > 1:
            here = tagged
            continue
        path = (*path, part)
        if isinstance(part, str):
            holders = here
            fields = [section.model_fields[part] for section in here if part in section.model_fields]
            here = tuple(inner for field in fields for inner in sections_in(field.annotation))
    return path, holders


def _missing(mistake: _Mistake) -> _Words:
    name = mistake.path[-1]
    field = next(section.model_fields[str(name)] for section in mistake.sections)
    return "is missing", f"Add `{name}:` ({summary(field)})."


def _unknown_key(mistake: _Mistake) -> _Words:
    name = str(mistake.path[-1])
    allowed = [field for section in mistake.sections for field in section.model_fields]
    if _no_space_after_colon(name):
        return "is not a known key", "Write a space after the `:`."
    return "is not a known key", _other_place(name) or near_names(name, allowed) or f"Possible here: {listed(allowed)}."


def _other_place(name: str) -> str:
    places = _places().get(name)
    return f"It belongs to {listed(f'`{place}`' for place in places)}." if places else ""


@cache
def _places() -> dict[str, dict[str, None]]:
    """Return the sections that have a field, by the field's name."""
    places: dict[str, dict[str, None]] = {}
    for path, _ in all_fields(Environment):
        places.setdefault(str(path[-1]), {})[dotted(path[:-1]) or "the top level"] = None
    return places


def _text(mistake: _Mistake) -> _Words:
    if mistake.value is None:
        return f"must be text {mistake.got}", "Write a value, or remove the key when it is optional."
    if mistake.text:
        return f"must be text {mistake.got}", f'Quote it: "{short(mistake.text)}"'
    return f"must be text {mistake.got}", "Write one value."


def _form(mistake: _Mistake) -> _Words:
    if not isinstance(mistake.value, str):
        return _text(mistake)
    return f"must be {mistake.context['words']} {mistake.got}", f"For example `{mistake.context['example']}`."


def _whole_number(mistake: _Mistake) -> _Words:
    message = f"must be a whole number {mistake.got}"
    value = mistake.value
    if isinstance(value, float) and value.is_integer():
        return message, f"Write {short(str(int(value)))}."
    if isinstance(value, str) and re.fullmatch(r"0|[1-9][0-9]{0,17}", value):
        return message, "Write it without quotation marks."
    if isinstance(value, str) and re.fullmatch(r"[1-9][0-9]+", value):
        return f"is too large {mistake.got}", "Write a smaller number."
    if isinstance(value, str) and value.startswith("0"):
        return message, "Write digits only, the first not 0."
    return message, "Write digits only."


def _number(mistake: _Mistake) -> _Words:
    quoted = isinstance(mistake.value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", mistake.value)
    return f"must be a number {mistake.got}", "Write it without quotation marks." if quoted else "Write digits only."


def _switch(mistake: _Mistake) -> _Words:
    value = str(mistake.value).lower()
    fix = "`true`" if value in _YES else "`false`" if value in _NO else "`true` or `false`"
    return f"must be true or false {mistake.got}", f"Write {fix}."


def _list(mistake: _Mistake) -> _Words:
    if isinstance(mistake.value, str):
        return f"must be a list {mistake.got}", f"Write [{short(mistake.value)}]"
    return f"must be a list {mistake.got}", "Begin each item with `- `."


def _no_space_after_colon(text: str) -> bool:
    return re.match(r"[A-Za-z_][A-Za-z0-9_]*:(?!//)\S", text) is not None


def _mapping(mistake: _Mistake) -> _Words:
    if isinstance(mistake.value, str) and _no_space_after_colon(mistake.value):
        return f"must be a mapping {mistake.got}", "Write a space after the `:`."
    return f"must be a mapping {mistake.got}", "Write its keys on the lines below, indented by two spaces."


def _choice(mistake: _Mistake) -> _Words:
    expected = mistake.context.get("expected") or mistake.context["expected_tags"]
    value = mistake.context.get("tag", mistake.value)
    names = [name.strip("'") for name in re.split(r", | or ", expected)]
    fix = near_names(value, names) if isinstance(value, str) else ""
    return f"must be {listed(names)} (got {shown(value)})", fix or "Write one of these."


def _missing_tag(mistake: _Mistake) -> _Words:
    fields = [section.model_fields[str(mistake.path[-2])] for section in mistake.sections]
    choices = [inner for field in fields for inner in sections_in(field.annotation)]
    tags = [tag for choice in choices for tag in get_args(choice.model_fields["type"].annotation)]
    return "is missing", f"Add {listed(f'`type: {tag}`' for tag in tags)}."


def _at_least(mistake: _Mistake) -> _Words:
    return f"is too small {mistake.got}", f"Write {mistake.context['ge']} or more."


def _above(mistake: _Mistake) -> _Words:
    return f"is too small {mistake.got}", f"Write more than {mistake.context['gt']:g}."


def _at_most(mistake: _Mistake) -> _Words:
    return f"is too large {mistake.got}", f"Write {mistake.context['le']} or less."


def _too_few(mistake: _Mistake) -> _Words:
    least = mistake.context["min_length"]
    return f"has too few entries (got {len(mistake.value)})", f"Write at least {least}."


def _too_many(mistake: _Mistake) -> _Words:
    most = mistake.context["max_length"]
    return f"has too many entries (got {len(mistake.value)})", f"Write at most {most}."


def _too_short(mistake: _Mistake) -> _Words:
    return "is empty", "Write a value, or remove the line."


def _too_long(mistake: _Mistake) -> _Words:
    return f"has {len(mistake.value)} characters", f"Write at most {mistake.context['max_length']}."


def _unforeseen(details: ErrorDetails) -> Callable[[_Mistake], _Words]:
    message = details["msg"][:1].lower() + details["msg"][1:]
    return lambda mistake: (f"{message} {mistake.got}", "Correct the value.")


_DESCRIPTIONS: dict[str, Callable[[_Mistake], _Words]] = {
    "missing": _missing,
    "extra_forbidden": _unknown_key,
    "string_type": _text,
    "form": _form,
    "int_type": _whole_number,
    "float_type": _number,
    "bool_type": _switch,
    "tuple_type": _list,
    "dict_type": _mapping,
    "model_type": _mapping,
    "model_attributes_type": _mapping,
    "literal_error": _choice,
    "union_tag_invalid": _choice,
    "union_tag_not_found": _missing_tag,
    "greater_than": _above,
    "greater_than_equal": _at_least,
    "less_than_equal": _at_most,
    "too_short": _too_few,
    "too_long": _too_many,
    "string_too_short": _too_short,
    "string_too_long": _too_long,
}
