"""Reading of the fact files: YAML groups of rows become frozen, typed records, once per process.

A fact file holds groups. A group has one ``source``, one ``as_of`` and many ``rows``; a row may state a source or
a date of its own. Rows are a mapping (its keys are the rows' names) or a list. Each file is parsed only when one of
its facts is asked for, because synth time counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

DATA_DIRECTORY = Path(__file__).parent / "data"

# libyaml's loader is about eight times faster; PyYAML lacks it only where it was built without libyaml.
YAML_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_Value = TypeVar("_Value")
_Row = TypeVar("_Row", bound="Row")

# YAML has lists, a frozen record holds tuples: only the container is converted, the items stay strict.
FrozenList = Annotated[tuple[_Value, ...], Field(strict=False)]
FrozenMapping = Annotated[Mapping[str, _Value], AfterValidator(MappingProxyType)]
Text = Annotated[str, Field(min_length=1)]


class UnknownFact(KeyError):  # noqa: N818 - reads as what it is; KeyError is an implementation detail for callers
    """No row has that key.

    Attributes:
        kind: What was looked for, for example ``instance type``.
        key: The key that has no row.
        near: Up to three keys that look like it, best first.
    """

    def __init__(self, kind: str, key: str, known: Mapping[str, object]) -> None:
        # Imported here: a synth without a mistake needs no difflib.
        from difflib import get_close_matches  # noqa: PLC0415

        self.kind = kind
        self.key = key
        self.near = tuple(get_close_matches(key, known, n=3, cutoff=0.5))
        super().__init__(key)

    def __str__(self) -> str:
        hint = f"; did you mean {' or '.join(self.near)}?" if self.near else ""
        return f"no facts about {self.kind} {self.key!r}{hint}"


class Row(BaseModel):
    """One fact: immutable, strictly typed, with its origin.

    Attributes:
        source: Where the fact was read.
        as_of: The day the source said so: its own date where it has one, else the day it was read.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    source: Text
    as_of: date


def data_file(file_name: str) -> Path:
    """Return the path of one fact file, for example of ``regions.yaml``."""
    return DATA_DIRECTORY / file_name


def read_file(file_name: str) -> dict[str, Any]:
    """Return the content of one YAML fact file.

    Args:
        file_name: Name inside the data directory.
    """
    with data_file(file_name).open(encoding="utf-8") as stream:
        content: dict[str, Any] = yaml.load(stream, Loader=YAML_LOADER)
    return content


def raw_rows(content: Mapping[str, Any], key_field: str = "name") -> Iterator[dict[str, Any]]:
    """Yield every row of a file's groups, completed with the group's source and date.

    Args:
        content: What ``read_file`` returned.
        key_field: The field that takes the key of rows written as a mapping.
    """
    for group in content["groups"]:
        origin = {"source": group["source"], "as_of": group["as_of"]}
        rows = group["rows"]
        listed = [{key_field: key, **row} for key, row in rows.items()] if isinstance(rows, dict) else rows
        for row in listed:
            yield {**origin, **row}


def load_rows(model: type[_Row], file_name: str, key_field: str = "name") -> Mapping[str, _Row]:
    """Return all rows of a fact file by key, in file order, read-only.

    Args:
        model: The record type of the rows.
        file_name: Name inside the data directory.
        key_field: The field of the record that is its key.

    Raises:
        pydantic.ValidationError: A row does not fit the record: a mistake in the data file.
    """
    records = [model.model_validate(row) for row in raw_rows(read_file(file_name), key_field)]
    return MappingProxyType({getattr(record, key_field): record for record in records})


def find(kind: str, key: str, rows: Mapping[str, _Row]) -> _Row:
    """Return the row with this key.

    Raises:
        UnknownFact: There is none.
    """
    try:
        return rows[key]
    except KeyError:
        raise UnknownFact(kind, key, rows) from None
