"""Reads YAML text into plain values and remembers where each of them stands.

Scalars follow the YAML 1.2 core schema without its octal and hexadecimal numbers, so `on`, `yes`, `010`, `12:30` and
`2026-01-31` are text. What an environment file does not need is refused: anchors, aliases, merge keys, tags, duplicate
keys and several documents. That also bounds the work: the values are never larger than the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from slipway.config.problems import Path, short
from slipway.config.unreadable import Flaw, Position, UnreadableDocument, unreadable

MAXIMUM_DEPTH = 20
"""Deepest nesting of mappings and lists below the whole file. An environment file needs six."""

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?")
_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass
class Document:
    """The values of a YAML file with their places."""

    value: Any = None
    """Mappings as dict, lists as tuple, scalars as str, int, float, bool or None."""

    keys: dict[Path, Position] = field(default_factory=dict)
    """Where the key of each mapping entry stands."""

    values: dict[Path, Position] = field(default_factory=dict)
    """Where each value begins."""

    texts: dict[Path, str] = field(default_factory=dict)
    """Plain scalars that are not text to YAML, as they are written: `2.30` is the number 2.3."""

    flaws: list[Flaw] = field(default_factory=list)
    """What was refused while reading. The value below such a path is None and means nothing."""

    def position(self, path: Path, *, of_key: bool = False) -> Position:
        """Find where a path stands; where a part of it is missing, where the mapping or list around it stands."""
        for length in range(len(path), 0, -1):
            part = path[:length]
            if part in self.values and not of_key and length == len(path):
                return self.values[part]
            if part in self.keys:
                return self.keys[part]
            if part in self.values:
                return self.values[part]
        return self.values.get((), Position(1, 1))

    def value_at(self, path: Path) -> Any:
        """Return the value at a path; None where nothing stands."""
        value = self.value
        for part in path:
            if isinstance(value, dict):
                value = value.get(str(part))
            elif isinstance(value, tuple) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return None
        return value


def read_document(text: str) -> Document:
    """Read one YAML document.

    Args:
        text: The whole file.

    Returns:
        Its values and their places. `value` is None when the text holds nothing.

    Raises:
        UnreadableDocument: The text is not YAML, or is nested deeper than `MAXIMUM_DEPTH`.
    """
    try:
        loader = ShallowLoader(text, MAXIMUM_DEPTH)
        return _Reader(iter(loader.get_event, None)).read()
    except (yaml.reader.ReaderError, yaml.MarkedYAMLError) as error:
        raise unreadable(error, text) from error


class ShallowLoader(yaml.SafeLoader):
    """PyYAML's safe loader with a bound on nesting, which holds while it looks for tokens.

    Each token costs PyYAML a look at every open bracket (`Scanner.stale_possible_simple_keys` of 6.0.3): 90,000 open
    brackets would take it an hour, long before its parser or ours sees the first of them.
    """

    def __init__(self, text: str, maximum_depth: int) -> None:
        """Begin to read a text.

        Args:
            text: The whole file.
            maximum_depth: Deepest nesting of mappings and lists below the outermost one.
        """
        super().__init__(text)
        self.maximum_depth = maximum_depth

    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:  # noqa: N803 (PyYAML's name)
        """Enter a `[` or `{`.

        Raises:
            UnreadableDocument: It is nested too deep.
        """
        self._bound(self.column, self.flow_level + 1)
        super().fetch_flow_collection_start(TokenClass)

    def add_indent(self, column: int) -> bool:
        """Enter an indented mapping or list, if one begins here.

        Raises:
            UnreadableDocument: It is nested too deep.
        """
        deeper: bool = super().add_indent(column)
        if deeper:
            self._bound(column, self.flow_level)
        return deeper

    def _bound(self, column: int, flow_level: int) -> None:
        if len(self.indents) + flow_level > self.maximum_depth + 1:
            message = f"more than {self.maximum_depth} levels of nesting"
            place = Position(self.line + 1, column + 1)
            raise UnreadableDocument(Flaw(place, (), message, "No field needs that: check brackets and indentation."))


class _Reader:
    """Builds a document from the events of PyYAML's parser."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self.events = events
        self.document = Document()

    def read(self) -> Document:
        documents = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    message = "a second document begins here"
                    self._refuse(event, (), message, "Keep one environment in each file and remove the `---`.")
                    break
                self.document.value = self._value(next(self.events), ())
        return self.document

    def _value(self, event: yaml.Event, path: Path) -> Any:
        self.document.values[path] = _position(event)
        if isinstance(event, yaml.AliasEvent):
            return self._refuse(
                event, path, f"the alias `*{short(str(event.anchor))}` is not supported", "Write the value itself."
            )
        if not isinstance(event, yaml.CollectionStartEvent | yaml.ScalarEvent):
            raise TypeError(f"PyYAML put a {type(event).__name__} where a value begins")
        if event.anchor is not None:
            self._refuse(event, path, f"the anchor `&{short(event.anchor)}` is not supported", "Remove it.")
        if event.tag is not None:
            tag = short(event.tag.replace("tag:yaml.org,2002:", "!!"))
            self._refuse(event, path, f"the tag `{tag}` is not supported", "Remove it.")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        return self._scalar(event, path) if isinstance(event, yaml.ScalarEvent) else self._list(path)

    def _scalar(self, event: yaml.ScalarEvent, path: Path) -> str | int | float | bool | None:
        value = event.value if event.style else _resolved(event.value)
        if not isinstance(value, str):
            self.document.texts[path] = event.value
        return value

    def _list(self, path: Path) -> tuple[Any, ...]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._value(event, (*path, len(items))))
        return tuple(items)

    def _mapping(self, path: Path) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                self._refuse(event, path, "a key must be plain text", "Write `key: value`.")
                self._skip(event)
                self._skip(next(self.events))
                continue
            key, here = event.value, (*path, event.value)
            if key == "<<" and not event.style:
                self._refuse(event, path, "merge keys (`<<`) are not supported", "Write the keys themselves.")
                self._skip(next(self.events))
            elif key in mapping:
                first = self.document.keys[here].line
                fix = f"Line {first} has it already: keep one of the two."
                self._refuse(event, here, "this key is here a second time", fix)
                self._skip(next(self.events))
            else:
                self.document.keys[here] = _position(event)
                mapping[key] = self._value(next(self.events), here)
        return mapping

    def _skip(self, event: yaml.Event) -> None:
        """Read past the value that begins with this event."""
        depth = 0
        while True:
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth == 0:
                return
            event = next(self.events)

    def _refuse(self, event: yaml.Event, path: Path, message: str, fix: str) -> None:
        self.document.flaws.append(Flaw(_position(event), path, message, fix))


def _resolved(text: str) -> str | int | float | bool | None:
    """Give a plain scalar its value."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _position(event: yaml.Event) -> Position:
    assert event.start_mark is not None  # PyYAML's types allow none for events that are made by hand
    return Position(event.start_mark.line + 1, event.start_mark.column + 1)
