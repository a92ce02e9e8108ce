"""Reads a recipe's YAML into plain values and remembers where each of them stands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML, MappingNode, Node
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from slipway_jobs.recipe.problems import Finding, Key, Problem, RecipeProblems, dotted, shown

LARGEST_FILE_BYTES = 200_000
"""Largest recipe; the shipped ones need a fiftieth of it."""


@dataclass(frozen=True)
class Document:
    """The values of a recipe's file, their places, and what `--set` put over them."""

    file: Path
    """The file as the caller named it."""

    values: dict[str, Any]
    """Sections as dict, values as str, int, float, bool or None."""

    places: Mapping[Key, tuple[int, int]]
    """Line and column, from 1, of each key."""

    overrides: Mapping[Key, str] = field(default_factory=dict)
    """Values that do not come from the file: key -> the text of the option, `--set steps=10`."""

    def problem(self, finding: Finding) -> Problem:
        """Give a finding its place: the option, the key's own line, or the line of the section it is missing from."""
        return Problem(self._place(finding.key), dotted(finding.key), finding.message, finding.fix)

    def _place(self, key: Key) -> str:
        for length in range(len(key), 0, -1):
            if key[:length] in self.overrides:
                return self.overrides[key[:length]]
            if key[:length] in self.places:
                line, column = self.places[key[:length]]
                return f"{self.file}:{line}:{column}"
        return f"{self.file}:1:1" if self.places else str(self.file)


def read_document(file: Path) -> Document:
    """Read a recipe's file.

    Raises:
        RecipeProblems: it cannot be read, is not one YAML mapping, or says a number that JSON has no word for.
    """
    text = _text_of(file)
    try:
        node = _yaml().compose(text)
        values = _yaml().load(text)
    except YAMLError as error:
        raise RecipeProblems([_flaw(file, error)]) from None
    if not isinstance(node, MappingNode) or not isinstance(values, dict):
        found = "the file is empty" if values is None else f"a recipe is a mapping of keys (got {shown(values)})"
        raise RecipeProblems([Problem(f"{file}:1:1", "", found, "Copy a shipped recipe: see `slipway-job recipes`.")])
    document = Document(file, values, dict(_places(node, ())))
    if flaws := [document.problem(finding) for finding in _not_plain(values, ())]:
        raise RecipeProblems(flaws)
    return document


def differences(document: Document, resolved: Mapping[str, Any]) -> Document:
    """Mark as `--set` what a recipe says differently from its file.

    Args:
        document: the recipe's file.
        resolved: the recipe as plain values, only those that were set.
    """
    overrides = {
        key: f"--set {dotted(key)}={'null' if value is None else value}"
        for key, value in _leaves(resolved, ())
        if _value_at(document.values, key) != value
    }
    return Document(document.file, document.values, document.places, overrides)


def scalar(text: str) -> Any:
    """Read the value of a `--set` as YAML: `8` is a number, `true` a switch, `3e-4` a number.

    Raises:
        ValueError: it is not one plain value.
    """
    try:
        value = _yaml().load(text)
    except YAMLError:
        value = []
    if isinstance(value, dict | list | set):
        raise ValueError(text)  # noqa: TRY004 (what is wrong is the text, not a type of the program)
    return value


def _yaml() -> YAML:
    return YAML(typ="safe", pure=True)


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise RecipeProblems([_about(file, f"cannot be read: {error.strerror}", "Name a recipe's file.")]) from None
    if len(content) > LARGEST_FILE_BYTES:
        raise RecipeProblems([_about(file, f"is larger than {LARGEST_FILE_BYTES} bytes", "Is it another file?")])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        place = f"{file}:{line}:{column}"
        message = f"the byte 0x{content[error.start]:02X} is not UTF-8"
        raise RecipeProblems([Problem(place, "", message, "Save the file as UTF-8.")]) from None


def _about(file: Path, message: str, fix: str) -> Problem:
    return Problem(str(file), "", message, fix)


def _flaw(file: Path, error: YAMLError) -> Problem:
    mark = (error.problem_mark or error.context_mark) if isinstance(error, MarkedYAMLError) else None
    place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else str(file)
    words = error.problem if isinstance(error, MarkedYAMLError) and error.problem else "the text cannot be read"
    fix = "Check indentation, brackets and quotation marks around this place."
    return Problem(place, "", f"not valid YAML: {words}", fix)


def _places(node: MappingNode, parent: Key) -> Iterator[tuple[Key, tuple[int, int]]]:
    pair: tuple[Node, Node]
    for pair in node.value:
        name, value = pair
        key = (*parent, str(name.value))
        yield key, (name.start_mark.line + 1, name.start_mark.column + 1)
        if isinstance(value, MappingNode):
            yield from _places(value, key)


def _not_plain(values: Mapping[Any, Any], parent: Key) -> Iterator[Finding]:
    for name, value in values.items():
        key = (*parent, str(name))
        if not isinstance(name, str):
            yield Finding(key, "a key must be text", "Put it in quotation marks.")
        if isinstance(value, float) and not math.isfinite(value):
            yield Finding(key, f"must be a finite number (got {value})", "Write digits.")
        if isinstance(value, dict):
            yield from _not_plain(value, key)


def _leaves(values: Mapping[str, Any], parent: Key) -> Iterator[tuple[Key, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*parent, name))
        else:
            yield (*parent, name), value


def _value_at(values: Any, key: Key) -> Any:
    for part in key:
        values = values.get(part) if isinstance(values, dict) else None
    return values
