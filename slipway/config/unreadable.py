"""What cannot be read: places and flaws of a YAML text, and PyYAML's words in clearer ones."""

import re
from dataclasses import dataclass

import yaml

from slipway.config.problems import Path, short

# `region:us-west-2`: one text to YAML, which ends where the next key begins. An address such as s3://... is a text.
_NO_SPACE = re.compile(r"(?P<key>\s*(?:- +)*[A-Za-z_][A-Za-z0-9_]*:)(?!//)\S")
# PyYAML's words, and clearer ones with a way out; {beginning} is the line where the construct begins.
_CLEARER_WORDS = (
    ("found character '\\t'", "there is a tab where YAML wants spaces", "Write spaces."),
    (
        "mapping values are not allowed here",
        "there is a ':' where none can be",
        "Check the indentation here and in the line before, write a space behind each ':', quote a value with ': '.",
    ),
    (
        "but got '?'",
        "there is a '?' inside brackets without quotation marks",
        'Put the whole text in quotation marks: "0 20 ? * MON-FRI *".',
    ),
    (
        "found unexpected document separator",
        "the text that begins in line {beginning} is not closed before this line",
        "Add the quotation mark at its end.",
    ),
    (
        "expected the node content",
        "a value is missing",
        "Write it, and close each `[` and `{`.",
    ),
    ("that cannot start any token", "a text cannot begin with this character", "Put the text in quotation marks."),
    ("expected '<document start>'", "this is behind the end of the document", "Keep one mapping in the file."),
    ("but found another document", "a second document begins here", "Keep one document in each file."),
    ("could not find expected ':'", "a ':' is missing", "Write `key: value`."),
    (
        "found unexpected end of stream",
        "the text that begins in line {beginning} is not closed",
        "Add the quotation mark at its end.",
    ),
    ("expected ',' or ']'", "the list that begins in line {beginning} is not closed", "Add the `]` at its end."),
    ("expected ',' or '}'", "the mapping that begins in line {beginning} is not closed", "Add the `}` at its end."),
    ("expected <block end>", "the indentation does not fit the lines before", "Indent each level by two spaces."),
)
# What PyYAML takes a text for that begins with one of these characters.
_INDICATORS = {
    "while scanning an alias": "*",
    "while scanning an anchor": "&",
    "while scanning a block scalar": "|` or `>",
    "while scanning a tag": "!",
    "while parsing a tag": "!",
    "while scanning a directive": "%",
}
# What PyYAML says where the key after a text such as `region:us-west-2` begins.
_WORDS_BEHIND_NO_SPACE = ("mapping values are not allowed here", "could not find expected ':'", "found '<scalar>'")


@dataclass(frozen=True)
class Position:
    """A place in the file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Flaw:
    """Something wrong with the YAML itself."""

    position: Position
    path: Path
    message: str
    fix: str


class UnreadableDocument(Exception):  # noqa: N818
    """The text is not one YAML document; `flaw` says where it stops being one."""

    def __init__(self, flaw: Flaw) -> None:
        self.flaw = flaw
        super().__init__(flaw.message)


def unreadable(error: yaml.reader.ReaderError | yaml.MarkedYAMLError, text: str) -> UnreadableDocument:
    """Say in clearer words why PyYAML cannot read a text."""
    if isinstance(error, yaml.MarkedYAMLError):
        return UnreadableDocument(_flaw_of(error, text))
    position = _position_of_index(text, int(error.position))
    message = f"the character U+{ord(text[error.position]):04X} is not allowed in YAML"
    return UnreadableDocument(Flaw(position, (), message, "Remove it."))


def _position_of_index(text: str, index: int) -> Position:
    before = text[:index]
    return Position(before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1)


def _flaw_of(error: yaml.MarkedYAMLError, text: str) -> Flaw:
    """Put PyYAML's words into clearer ones, and keep the place inside the file."""
    problem = error.problem or error.context or "the text cannot be read"
    mark = error.problem_mark or error.context_mark
    if mark and any(words in problem for words in _WORDS_BEHIND_NO_SPACE) and (flaw := _missing_space(mark.line, text)):
        return flaw
    if mark and (indicator := _INDICATORS.get(error.context or "")):
        message = f"not valid YAML: a `{indicator}` is here without quotation marks"
        return Flaw(_within(mark, text), (), message, 'Put the whole text in them, such as "0 20 ? * MON-FRI *".')
    beginning = (error.context_mark.line if error.context_mark else 0) + 1
    message, fix = next(
        ((message.format(beginning=beginning), fix) for words, message, fix in _CLEARER_WORDS if words in problem),
        (problem, "Check indentation, brackets and quotation marks around this place."),
    )
    return Flaw(_within(mark, text) if mark else Position(1, 1), (), f"not valid YAML: {message}", fix)


def _within(mark: yaml.Mark, text: str) -> Position:
    """Return the place of a mark, which at the end of a file may be a line too far."""
    return Position(min(mark.line + 1, max(1, len(text.splitlines()))), mark.column + 1)


def _missing_space(index: int, text: str) -> Flaw | None:
    """Find a colon without a space behind it in a line, or in the last one before it that says something."""
    lines = text.splitlines()[: index + 1]
    said = [number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")]
    for number in dict.fromkeys([index, *said[-1:], *said[-2:-1]]):
        if number < len(lines) and (found := _NO_SPACE.match(lines[number])):
            key = found["key"]
            fix = f"Write `{key.lstrip(' -')} {short(lines[number][len(key) :])}`."
            return Flaw(Position(number + 1, len(key)), (), "not valid YAML: a space is missing after the ':'", fix)
    return None
