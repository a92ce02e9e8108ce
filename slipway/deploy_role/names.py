"""Names that CloudFormation makes up, and environments whose names a policy could not tell apart."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from slipway.environment_files import ENVIRONMENTS
from slipway.leftovers.ownership import PARTS

STACK_NAME_CHARACTERS = 24
"""How many characters of a stack's name CloudFormation keeps in the names it makes up where 64 are allowed."""


def name_prefix(stack: str) -> str:
    """Return how every name begins that CloudFormation makes up for a resource of a stack."""
    return f"{stack}-" if len(stack) <= STACK_NAME_CHARACTERS else stack[:STACK_NAME_CHARACTERS]


def collisions(environment: str, others: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each other environment whose names begin like this one's, with the beginning that both have.

    Args:
        environment: name of an environment.
        others: names of environments that may be in the same account; its own name does not count.
    """
    own = _prefixes(environment)
    for other in others:
        theirs = _prefixes(other)
        alike = [max(a, b, key=len) for a in own for b in theirs if a.startswith(b) or b.startswith(a)]
        if other != environment and alike:
            yield other, min(alike)


def names_in_files(folder: Path = ENVIRONMENTS) -> Iterator[str]:
    """Yield the names of the environments whose files are in a folder; a file that cannot be read has none."""
    for file in sorted(folder.glob("*.yaml")):
        try:
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError):
            continue
        if isinstance(content, dict) and isinstance(content.get("name"), str):
            yield content["name"]


def _prefixes(environment: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name_prefix(f"slipway-{environment}-{part}") for part in PARTS))
