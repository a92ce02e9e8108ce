"""What is wrong with a recipe, where it stands, and what to write instead."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

Key = tuple[str, ...]
"""Way from the root of a recipe to one value, for example `("parallelism", "tensor_parallel_size")`."""


@dataclass(frozen=True)
class Finding:
    """Something wrong with one value, or a notice about it, before its place in the file is known."""

    key: Key
    """The value; it need not stand in the file."""

    message: str
    """What is wrong, with the numbers, without a full stop."""

    fix: str
    """What to write instead, as sentences."""


@dataclass(frozen=True)
class Problem:
    """A finding with its place."""

    place: str
    """`file:line:column`, the file alone, or the option that the value comes from: `--set steps=0`."""

    key: str
    """The value as a dotted path; empty for the whole file."""

    message: str
    """What is wrong, without a full stop."""

    fix: str
    """What to write instead, as sentences."""

    def __str__(self) -> str:
        subject = f"{self.key}: " if self.key and not self.place.startswith("--set") else ""
        return f"{self.place}: {subject}{self.message}. {self.fix}".rstrip()


class RecipeProblems(ValueError):  # noqa: N818 (a user's mistake, not an error of the program)
    """A recipe that cannot run here. `problems` holds everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def dotted(key: Key) -> str:
    """Write a key as `parallelism.tensor_parallel_size`."""
    return ".".join(key)


def shown(value: object) -> str:
    """Write a value on one line, as it can be repeated in a message."""
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def near_name(wrong: str, allowed: Iterable[str]) -> str:
    """Suggest the allowed name that is most like the wrong one, as a sentence; list all where none is near."""
    names = list(allowed)
    matches = get_close_matches(wrong.lower(), names, n=1)
    return f"Did you mean `{matches[0]}`?" if matches else f"Possible: {listed(names)}."


def listed(names: Iterable[object], last: str = "or") -> str:
    """Join names for a sentence: `a, b or c`; `none` when there are none."""
    texts = [str(name) for name in names]
    if len(texts) < 2:
        return texts[0] if texts else "none"
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"
