"""The resource types that API calls stand behind, and those that nothing does: one YAML file for each area."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from slipway_emulator.resources.row import Record, Row

_FOLDER = Path(__file__).parent
_RECORDS = "records.yaml"


def _read(path: Path) -> Mapping[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with path.open(encoding="utf-8") as file:
        return dict(yaml.load(file, Loader=loader))  # both loaders are safe ones


@cache
def api_rows() -> Mapping[str, Row]:
    """Resource type to row."""
    return {
        resource_type: Row.model_validate(fields)
        for path in sorted(_FOLDER.glob("*.yaml"))
        if path.name != _RECORDS
        for resource_type, fields in _read(path).items()
    }


@cache
def records() -> Mapping[str, Record]:
    """Resource type to record."""
    return {resource_type: Record.model_validate(fields) for resource_type, fields in _read(_FOLDER / _RECORDS).items()}
