"""Data sets that the shipped recipes can be tried with."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import TypeAdapter

from slipway_jobs.recipe.model import Name
from slipway_jobs.recipe.section import Section


class Preset(Section):
    """One data set."""

    name: Name
    """What `slipway-job fetch` calls it."""

    source: str
    """`hf:OWNER/NAME` or `s3://BUCKET/PREFIX`."""

    revision: str | None = None
    """Commit, or None for the newest."""

    include: tuple[str, ...]
    """Patterns of its files that the prepare stage reads."""

    license: str
    """Its licence, for a data set that does not name one where the command asks."""

    about: str
    """What it is, in a line."""

    seen: str
    """Where all this was read, and what was not looked up."""


def presets() -> dict[str, Preset]:
    """Return the data sets by name."""
    content = Path(__file__).with_name("presets.yaml").read_text(encoding="utf-8")
    rows = TypeAdapter(list[Preset]).validate_python(yaml.safe_load(content), strict=False)
    return {row.name: row for row in rows}
