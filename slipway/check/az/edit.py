"""Writes zones and their reason into an environment file, and touches nothing else in it.

A YAML library that writes the whole file again would change spacing, indentation and line ends that people chose. Here
the parser only says where the values stand (PyYAML's marks), and the text between them is kept as it is.
"""

import os
import re
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path

import yaml

from slipway.check.az.decision import Decision
from slipway.config import InvalidEnvironment, load_environment

_TRAINING, _OTHERS = "training_availability_zone_id", "other_availability_zone_ids"
_MARK = "# slipway az: "
"""How every line of our comment begins."""

_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}, ")
_WIDTH = 118


class CannotWriteError(Exception):
    """The zones cannot be written into the file; the message says why and what to write by hand."""


def edited(text: str, decision: Decision, source: str, today: str) -> str:
    """Return the text of an environment file with other zones and the reason above them.

    Args:
        text: the whole file.
        decision: the zones.
        source: where the evidence is from.
        today: the date, `2026-11-22`.

    Returns:
        The text; the very same one when it has these zones and this reason already, whatever their date.

    Raises:
        CannotWriteError: the file has no `network` section that could be written into.
    """
    mark, text = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    network = _network(text)
    keys = {key.value: (key, value) for key, value in network.value}
    newline = "\r\n" if "\r\n" in text else "\n"
    anchor = (keys.get(_TRAINING) or keys.get(_OTHERS) or network.value[0])[0]
    changes = [
        *_others(keys, decision, anchor, newline),
        *_training(keys, decision, anchor, newline),
        _comment(text, anchor.start_mark, decision, f"{today}, {source}", newline),
    ]
    # From the end on, so that the places before stay where the parser saw them.
    for start, end, new in sorted(changes, key=lambda change: change[0], reverse=True):
        text = text[:start] + new + text[end:]
    return mark + text


def write(path: Path, text: str) -> None:
    """Put a text in the place of an environment file, at once and only if it is valid.

    Raises:
        InvalidEnvironment: it would not be valid; the file is as it was. Lines are those of the new text.
        OSError: it cannot be written; the file is as it was.
    """
    # A link stays one, and leads to the new text.
    path = path.resolve()
    if not os.access(path, os.W_OK):
        raise PermissionError(f"{path} is read-only")
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".yaml", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _validate(temporary, path)
        temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _validate(temporary: Path, path: Path) -> None:
    """Load the text as it would be; problems name the file that it is for."""
    try:
        load_environment(temporary)
    except InvalidEnvironment as invalid:
        raise InvalidEnvironment(replace(problem, file=str(path)) for problem in invalid.problems) from None


def _network(text: str) -> yaml.MappingNode:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    found = [value for key, value in root.value if key.value == "network"] if isinstance(root, yaml.MappingNode) else []
    if len(found) != 1 or not isinstance(found[0], yaml.MappingNode) or not found[0].value:
        raise CannotWriteError("the file has no `network` section with a key to write beside")
    if found[0].flow_style:
        raise CannotWriteError("`network` is written in one line, {...}, where no reason can be written")
    return found[0]


_Node = tuple[yaml.Node, yaml.Node]
_Change = tuple[int, int, str]


def _training(keys: dict[str, _Node], decision: Decision, anchor: yaml.Node, newline: str) -> list[_Change]:
    if _TRAINING in keys:
        value = keys[_TRAINING][1]
        return [_replaced(value, decision.training)]
    return [_inserted(anchor, f"{_TRAINING}: {decision.training}", newline)]


def _others(keys: dict[str, _Node], decision: Decision, anchor: yaml.Node, newline: str) -> list[_Change]:
    wanted = f"[{', '.join(decision.others)}]"
    if _OTHERS not in keys:
        return [_inserted(anchor, f"{_OTHERS}: {wanted}", newline)]
    value = keys[_OTHERS][1]
    if isinstance(value, yaml.SequenceNode) and len(value.value) == len(decision.others):
        # Item by item: comments between the items stay.
        return [
            (item.start_mark.index, item.end_mark.index, zone)
            for item, zone in zip(value.value, decision.others, strict=True)
        ]
    if isinstance(value, yaml.SequenceNode) and not value.flow_style:
        raise CannotWriteError(f"`{_OTHERS}` has another number of zones than are to be written: write {wanted}")
    return [_replaced(value, wanted)]


def _replaced(value: yaml.Node, new: str) -> _Change:
    """Put another value in the place of one; where none is written, that is right behind the colon."""
    start, end = value.start_mark.index, value.end_mark.index
    return start, end, new if start < end else f" {new}"


def _inserted(anchor: yaml.Node, line: str, newline: str) -> _Change:
    """Put a line above the key that the comment stands at."""
    mark = anchor.start_mark
    return mark.index, mark.index, f"{line}{newline}{' ' * mark.column}"


def _comment(text: str, mark: yaml.Mark, decision: Decision, origin: str, newline: str) -> _Change:
    """Put the reason above the line with the key, in place of an older one."""
    lines = text.splitlines(keepends=True)
    first = mark.line
    while first and lines[first - 1].lstrip(" ").startswith(_MARK):
        first -= 1
    indent = " " * mark.column
    said = f"{origin}: {'; '.join(decision.reasons)}."
    wrapped = textwrap.wrap(said, _WIDTH - len(indent) - len(_MARK), break_on_hyphens=False)
    new = [f"{indent}{_MARK}{line}{newline}" for line in wrapped]
    old = lines[first : mark.line]
    start = sum(map(len, lines[:first]))
    return start, start + sum(map(len, old)), "".join(old if _undated(old) == _undated(new) else new)


def _undated(lines: list[str]) -> str:
    """Return what a comment says, without its date: a day later it is as true."""
    words = " ".join(line.strip().removeprefix(_MARK) for line in lines)
    return _DATE.sub("", words)
