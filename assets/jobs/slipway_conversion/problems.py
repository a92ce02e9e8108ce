"""What the converter says when it refuses: all problems of one look at the files, for a person to read."""

from __future__ import annotations

from collections.abc import Iterable

NAMES_SHOWN = 4


class ConversionError(Exception):
    """A checkpoint, model or option that cannot be converted. Each problem names the file and what to do."""

    def __init__(self, *problems: str) -> None:
        """Make an error of one or more problems."""
        super().__init__("\n".join(problems))
        self.problems = problems


def some(names: Iterable[object]) -> str:
    """Return the first names of many, and how many more there are."""
    shown = [str(name) for name in names]
    more = len(shown) - NAMES_SHOWN
    return ", ".join(shown[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
