"""The probes, as probes.yaml has them."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from slipway.config import Environment


class Probe(BaseModel):
    """Something that is tried on a real account."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    proves: tuple[str, ...]
    """Lines of "Not proven" in docs/proven.md."""

    run: tuple[str, ...]
    """Words of a `slipway` command."""

    then: tuple[str, ...] = ()
    """Another one, after it; empty for none."""

    seconds: int
    """How long both may take."""

    needs: str | None = Field(default=None, alias="if")
    """Dotted path in the environment file of what it tries; None if every environment has it."""

    def commands(self, environment: str) -> tuple[tuple[str, ...], ...]:
        """Return its commands for an environment, by name or file."""
        found = (self.run, self.then) if self.then else (self.run,)
        return tuple(tuple(word.replace("{environment}", environment) for word in words) for words in found)

    def is_for(self, settings: Environment) -> bool:
        """Whether an environment has what it tries."""
        value: Any = settings
        for name in self.needs.split(".") if self.needs else ():
            value = getattr(value, name, None)
        return bool(value)


class ByHand(BaseModel):
    """Something that no command can try."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    proves: str
    do: str
    """What a person does instead."""


class Probes(BaseModel):
    """All of them, the cheapest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    probes: tuple[Probe, ...]
    by_hand: tuple[ByHand, ...]


@cache
def probes() -> Probes:
    """Return the probes."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return Probes.model_validate(yaml.safe_load(text))
