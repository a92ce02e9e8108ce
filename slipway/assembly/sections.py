"""Parts of a configuration, read as ParallelCluster's schema reads them, some of whose values are not known yet."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slipway.config.problems import Finding, Path, dotted, shown

_OPEN_TEXT = re.compile(r"\$\{[^}]*\}|<[^<>]+>|\{\{.*?\}\}|\bPLACEHOLDER\w*")
# What marshmallow, on which ParallelCluster's schema stands, takes for a truth value (fields.Boolean of 3.26).
_TRUE = frozenset({"t", "true", "on", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "off", "n", "no", "0"})
_LONGEST_NUMBER = 18


class UnknownValue(Exception):  # noqa: N818 (what is not known, not what is wrong)
    """A rule needs a value that nobody has said; `reason` says which, as a sentence without a full stop."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def is_open(text: str) -> bool:
    """Whether a text has a part that is filled in later: `${Bucket}`, `<YOUR REGION>`, `{{ os }}`, `PLACEHOLDER_OS`."""
    return _OPEN_TEXT.search(text) is not None


@dataclass(frozen=True)
class Section:
    """A mapping somewhere in a configuration. A key that is absent or has no value reads as its default."""

    path: Path
    """Where it stands, from the root of the file."""

    value: Any
    """What exists there; getters raise `UnknownValue` when it is not a mapping."""

    parent: "Section | None" = field(default=None, repr=False)
    """The section with the list that this one is an item of."""

    def get(self, key: str) -> Any:
        """Return the value of a key as it is written, None when it is absent."""
        if not isinstance(self.value, Mapping):
            raise UnknownValue(f"{dotted(self.path)} is {_described(self.value)}")
        return self.value.get(key)

    def has(self, key: str) -> bool:
        """Whether the key has a value."""
        return self.get(key) is not None

    def section(self, *keys: str) -> "Section":
        """Return the section below these keys, an empty one when it is absent."""
        section = self
        for key in keys:
            below = section.get(key)
            section = Section((*section.path, key), {} if below is None else below, section.parent)
        return section

    def items(self, key: str) -> list["Section"]:
        """Return the sections of a list, none when it is absent."""
        return [Section((*self.path, key, index), item, self) for index, item in enumerate(self._list(key))]

    def texts(self, key: str) -> list[str]:
        """Return the texts of a list, with whatever is open in them."""
        return [str(item) for item in self._list(key) if isinstance(item, str | int | float)]

    def _list(self, key: str) -> Sequence[Any]:
        found = self.get(key)
        if found is None:
            return ()
        if isinstance(found, str) or not isinstance(found, Sequence):
            raise UnknownValue(f"{dotted((*self.path, key))} is {_described(found)}")
        return found

    def written(self, key: str) -> str | None:
        """Return a text with whatever is open in it; None when it is absent."""
        found = self.get(key)
        if found is None:
            return None
        if isinstance(found, bool):
            return str(found).lower()
        if not isinstance(found, str | int | float):
            raise UnknownValue(f"{dotted((*self.path, key))} is {_described(found)}")
        return str(found)

    def text(self, key: str) -> str | None:
        """Return a text that is known to its last character; None when it is absent."""
        found = self.written(key)
        if found is not None and is_open(found):
            raise UnknownValue(f"{dotted((*self.path, key))} is {_described(found)}")
        return found

    def hint(self, key: str) -> str | None:
        """Return a text with whatever is open in it; None when it is absent or cannot be read."""
        try:
            return self.written(key)
        except UnknownValue:
            return None

    def required(self, key: str) -> str:
        """Return a text without which there is nothing to check."""
        found = self.text(key)
        if found is None:
            raise UnknownValue(f"{dotted((*self.path, key))} is not there")
        return found

    def flag(self, key: str, *, default: bool) -> bool:
        """Return a truth value."""
        found = self.text(key)
        if found is None:
            return default
        if found.lower() not in _TRUE | _FALSE:
            raise UnknownValue(f"{dotted((*self.path, key))} is neither true nor false")
        return found.lower() in _TRUE

    def number(self, key: str, *, default: int) -> int:
        """Return a whole number."""
        found = self.text(key)
        if found is None:
            return default
        if not re.fullmatch(rf"-?[0-9]{{1,{_LONGEST_NUMBER}}}", found, re.ASCII):
            raise UnknownValue(f"{dotted((*self.path, key))} is not a whole number")
        return int(found)

    def finding(self, message: str, *keys: str, fix: str = "") -> Finding:
        """Make a finding about this section, or about what exists below it.

        Args:
            message: what is wrong, without a full stop.
            keys: the way to the place, which need not exist.
            fix: what to write instead, where the rule's own words are not enough.
        """
        return Finding((*self.path, *keys), message, fix)


def _described(value: Any) -> str:
    if isinstance(value, str) and is_open(value):
        return f"only known later ({shown(value)})"
    return f"{shown(value if not isinstance(value, list) else tuple(value))}, which is not of its kind"


def with_open_texts(value: Any, parameters: Mapping[str, Any]) -> Any:
    """Return a value with its CloudFormation functions as text, in which `${...}` stands for what is not known.

    Args:
        value: part of a template.
        parameters: values for `Ref`, by name.
    """
    if isinstance(value, Mapping):
        if len(value) == 1:
            name, argument = next(iter(value.items()))
            if name == "Ref" or str(name).startswith("Fn::"):
                return _resolved(str(name), argument, parameters)
        return {key: with_open_texts(item, parameters) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_open_texts(item, parameters) for item in value]
    return value


def _resolved(function: str, argument: Any, parameters: Mapping[str, Any]) -> Any:
    match function, argument:
        case "Ref", str():
            return parameters.get(argument, f"${{{argument}}}")
        case "Fn::GetAtt", [str() as resource, str() as attribute]:
            return f"${{{resource}.{attribute}}}"
        case "Fn::Join", [str() as separator, [*parts]]:
            return separator.join(_one_text(part, parameters) for part in parts)
        case "Fn::Sub", str():
            return _substituted(argument, parameters)
        case "Fn::Sub", [str() as text, Mapping() as values]:
            known = {str(name): with_open_texts(value, parameters) for name, value in values.items()}
            return _substituted(text, {**parameters, **known})
        case _:
            return f"${{{function}}}"


def _substituted(text: str, values: Mapping[str, Any]) -> str:
    return re.sub(r"\$\{([^}!]+)\}", lambda found: str(values.get(found[1], found[0])), text)


def _one_text(part: Any, parameters: Mapping[str, Any]) -> str:
    found = with_open_texts(part, parameters)
    return str(found) if isinstance(found, str | int | float) else "${list}"
