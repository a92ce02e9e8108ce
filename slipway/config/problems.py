"""What is wrong with an environment file, and how a person reads it."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

Path = tuple[str | int, ...]
"""Way from the root of the file to one value: keys of mappings and indexes of lists."""

MOST_TOLD = 20
"""Problems of one file, reported at once."""

_LONGEST_SHOWN = 60
_PLAIN_KEY = re.compile(rf"[A-Za-z0-9_:./@+=-]{{1,{_LONGEST_SHOWN}}}")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, or that a notice is about: where it stands and what to write instead."""

    file: str
    """Path of the environment file as the caller gave it."""

    line: int | None
    """Line in the file, from 1. None when the file as a whole is the problem, for example when it does not exist."""

    column: int | None
    """Column in that line, from 1."""

    path: str
    """The field as a dotted path, for example `training.queues[0].name`. Empty for the whole file."""

    message: str
    """What is wrong, with the value that was found."""

    fix: str
    """What to write instead."""

    rule: str
    """Name of the rule or notice in docs/environment-file.md; or `file`, `yaml`, `schema`, `credentials`."""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        subject = f"{self.path}: " if self.path else ""
        return f"{place}: {subject}{self.message}. {self.fix} [{self.rule}]"


@dataclass(frozen=True)
class Finding:
    """Something wrong with one field, before its place in the file is known."""

    path: Path
    """The field; it need not exist in the file."""

    message: str
    """What is wrong, without a full stop."""

    fix: str
    """What to write instead, as sentences."""

    rule: str = ""
    """Name of the broken rule; the registry of rules fills it in."""

    at_key: bool = False
    """Whether the key is wrong and not its value."""


class InvalidEnvironment(ValueError):  # noqa: N818 (a user's mistake, not an error of the program)
    """An environment file that cannot be used.

    `problems` holds everything that is wrong with it, sorted by line. As text it is the first `MOST_TOLD` of them, each
    on its line, and how many more there are.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted_by_place(problems)
        lines = [str(problem) for problem in self.problems[:MOST_TOLD]]
        if more := len(self.problems) - len(lines):
            lines.append(f"{self.problems[0].file}: {more:,} more problems. Mend these first.")
        super().__init__("\n".join(lines))


def sorted_by_place(problems: Iterable[Problem]) -> list[Problem]:
    """Return each problem once, in the order of the file's lines."""
    return sorted(set(problems), key=lambda p: (p.line or 0, p.column or 0, p.path, p.message))


def dotted(path: Path) -> str:
    """Write a path as `training.queues[0].name`; a key with unusual characters is quoted: `tags['a b']`."""
    written = ""
    for part in path:
        if isinstance(part, int):
            written += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            written += f".{part}" if written else part
        else:
            written += f"[{shown(part)}]"
    return written


def shown(value: object) -> str:
    """Write a value the way it can be repeated in a message: one line, short, printable."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, tuple):
        return "a list"
    if value is None:
        return "nothing"
    return short(f"'{value}'" if isinstance(value, str) and value.isprintable() else json.dumps(value))


def short(text: str) -> str:
    """Cut a text that is too long for a message."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def near_names(wrong: object, allowed: Iterable[str], *, likeness: float = 0.6) -> str:
    """Suggest the allowed name that is most like the wrong one, as a sentence; empty when none is near.

    Args:
        wrong: What was written.
        allowed: What could have been meant.
        likeness: How much of the two must agree, from 0 to 1 (difflib's ratio).
    """
    matches = get_close_matches(str(wrong).lower(), list(allowed), n=1, cutoff=likeness)
    return f"Did you mean '{matches[0]}'?" if matches else ""


def listed(names: Iterable[object], last: str = "or") -> str:
    """Write names as a person lists them: `a, b or c`."""
    words = [str(name) for name in names]
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)
