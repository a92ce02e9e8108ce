"""Environment files that hold every pair of some choices: covering arrays (covertable) of what one may write."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import covertable  # type: ignore[import-untyped]
import yaml

Values = dict[str, Any]
"""Keys of a section."""

Row = Mapping[str, str]
"""A value for each choice, by its name."""

Choices = Mapping[str, Mapping[str, Values]]
"""For each choice its values, with the keys of the section that each one means."""


class Conflict(Protocol):
    """Values of some choices that do not go together.

    It says what the rules say a second time, on purpose and in other words.
    """

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices."""

    @property
    def meets(self) -> Callable[..., bool]:
        """Whether these values of them, in that order, are refused."""


def covering(choices: Choices, conflicts: Iterable[Conflict]) -> list[Row]:
    """Return rows in which every pair of these choices occurs that goes together."""
    constraints = [
        {
            "operator": "fn",
            "requires": list(conflict.choices),
            "evaluate": lambda row, conflict=conflict: not conflict.meets(*(row[name] for name in conflict.choices)),
        }
        for conflict in conflicts
        if choices.keys() >= set(conflict.choices)
    ]
    rows = covertable.make({name: list(values) for name, values in choices.items()}, constraints=constraints)
    return [{name: row[name] for name in choices} for row in rows]


def keys_of(choices: Choices, row: Row) -> Values:
    """Return the keys that a row's values mean."""
    return {key: value for choice, name in row.items() for key, value in choices[choice][name].items()}


def written(values: Values) -> str:
    """Return an environment file's text."""
    text: str = yaml.dump(values, Dumper=_WithoutAliases, sort_keys=False)
    return text


class _WithoutAliases(yaml.SafeDumper):
    """Writes a value that occurs twice twice: environment files have no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
