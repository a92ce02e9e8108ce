"""Reads a YAML file as ParallelCluster and CloudFormation read it, and remembers where each value stands.

Unlike an environment file (`slipway.config.document`) it may have anchors, merge keys, YAML 1.1's words for truth
values and CloudFormation's short functions such as `!Ref`. A duplicate key is refused, as ParallelCluster does.
"""

from typing import Any

import yaml

from slipway.config.document import Document, ShallowLoader
from slipway.config.problems import Path, short
from slipway.config.unreadable import Flaw, Position, UnreadableDocument, unreadable

MAXIMUM_DEPTH = 50
"""Deepest nesting of mappings and lists."""

MAXIMUM_VALUES = 50_000
"""Most values in a file, counted with what its aliases stand for. A cluster with all 50 queues has 2,000."""

_MERGE = "tag:yaml.org,2002:merge"
_PLAIN = (str, int, float, bool, type(None))


def read_document(text: str) -> Document:
    """Read one YAML document.

    Args:
        text: The whole file.

    Returns:
        Its values and their places; CloudFormation's short functions in their long form. `flaws` holds the keys that
        stand twice.

    Raises:
        UnreadableDocument: The text is not one YAML document, is nested deeper than `MAXIMUM_DEPTH`, or has more than
            `MAXIMUM_VALUES` values.
    """
    try:
        loader = ShallowLoader(text, MAXIMUM_DEPTH)
        root = loader.get_single_node()
        return _Reader(loader).read(root)
    except (yaml.reader.ReaderError, yaml.MarkedYAMLError) as error:
        raise unreadable(error, text) from error


class _Reader:
    """Builds a document from the nodes of PyYAML's composer."""

    def __init__(self, loader: yaml.SafeLoader) -> None:
        self.loader = loader
        self.document = Document()
        self.values_left = MAXIMUM_VALUES

    def read(self, root: yaml.Node | None) -> Document:
        if root is not None:
            self.document.value = self._value(root, ())
        return self.document

    def _value(self, node: yaml.Node, path: Path) -> Any:
        place = _position(node)
        self.document.values[path] = place
        self.values_left -= 1
        if self.values_left < 0:
            message = f"more than {MAXIMUM_VALUES} values, aliases counted"
            raise UnreadableDocument(Flaw(place, (), message, "No cluster needs that."))
        if len(path) > 2 * MAXIMUM_DEPTH:  # an alias of itself; a list in a mapping need not be indented
            message = f"more than {2 * MAXIMUM_DEPTH} levels of nesting, aliases counted"
            raise UnreadableDocument(Flaw(place, (), message, "No cluster needs that."))
        function = node.tag[1:] if node.tag.startswith("!") and not node.tag.startswith("!!") else ""
        value = self._plain_value(node, path, function)
        return _long_form(function, value) if function else value

    def _plain_value(self, node: yaml.Node, path: Path, function: str) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._placeholder(node) or self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        if function:
            return node.value
        try:
            value = self.loader.construct_object(node)
        except ValueError:  # what looks like a date or a number and is none, such as 2026-13-40
            return node.value
        return value if isinstance(value, _PLAIN) else node.value

    def _placeholder(self, node: yaml.MappingNode) -> str | None:
        """Return the text `{{ os }}`, which is a mapping with a mapping as its only key to YAML."""
        if len(node.value) != 1 or not isinstance(inner := node.value[0][0], yaml.MappingNode):
            return None
        if not (node.flow_style and inner.flow_style and len(inner.value) == 1):
            return None
        name, value = inner.value[0]
        plain = isinstance(name, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode) and not value.value
        return f"{{{{ {name.value} }}}}" if plain else None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                merged = self._merged(value_node, path) | merged
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                flaw = Flaw(_position(key_node), path, "a key must be plain text", "Write `key: value`.")
                self.document.flaws.append(flaw)
                continue
            key, here = key_node.value, (*path, key_node.value)
            if key in own:
                first = self.document.keys[here].line
                fix = f"Line {first} has it already, and ParallelCluster refuses the file: keep one of the two."
                message = f"the key {short(key)} stands here a second time"
                self.document.flaws.append(Flaw(_position(key_node), path, message, fix))
            else:
                self.document.keys[here] = _position(key_node)
            own[key] = self._value(value_node, here)
        return merged | own

    def _merged(self, node: yaml.Node, path: Path) -> dict[str, Any]:
        """Return what a merge key brings; of several mappings the first one wins."""
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for part in parts:
            value = self._value(part, (*path, "<<"))
            if isinstance(value, dict):
                merged = value | merged
        return merged


def _long_form(function: str, value: Any) -> dict[str, Any]:
    """Turn `!Ref x` into `{"Ref": "x"}`."""
    if function in ("Ref", "Condition"):
        return {function: value}
    if function == "GetAtt" and isinstance(value, str):
        return {"Fn::GetAtt": value.split(".", 1)}
    return {f"Fn::{function}": value}


def _position(node: yaml.Node) -> Position:
    assert node.start_mark is not None  # PyYAML's types allow none for nodes that are made by hand
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)
