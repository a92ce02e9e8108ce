"""Names that CloudFormation makes up, and environments whose names a policy could not tell apart."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from slipway.assembly.environment_files import ENVIRONMENTS
from slipway.remove.leftovers.ownership import PARTS

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
    own = _stacks(environment)
    for other in others:
        alike = list(alike_names(own, _stacks(other)))
        if other != environment and alike:
            yield other, min(beginning for _, beginning in alike)


def alike_names(own: Iterable[str], others: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each other stack whose resources get names that begin like those of our own, with what both begin with.

    Args:
        own: names of stacks.
        others: names of stacks that may be in the same account.
    """
    prefixes = [name_prefix(stack) for stack in own]
    for other in others:
        theirs = name_prefix(other)
        alike = [max(ours, theirs, key=len) for ours in prefixes if ours.startswith(theirs) or theirs.startswith(ours)]
        if alike:
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


def _stacks(environment: str) -> tuple[str, ...]:
    return tuple(f"slipway-{environment}-{part}" for part in PARTS)
