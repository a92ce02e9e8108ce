"""The ledger: one JSON line for everything the emulator did, read while it is being written."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from slipway.rehearse.errors import RehearsalError

Backing = Literal["api", "lambda", "nested", "record"]
"""What stood behind a resource: an API object, the stack's own Lambda code, a nested stack, only a record."""

Action = Literal["create", "update", "replace", "delete", "retain", "rollback", "failed"]
"""What happened to a resource. `retain`: left alone because of its DeletionPolicy. `rollback`: undone."""


class LedgerError(RehearsalError):
    """A line of the ledger is not in its format."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True)


class ResourceEntry(_Entry):
    """One thing that happened to one resource of one stack."""

    kind: Literal["resource"]
    action: Action
    stack: str
    logical_id: str
    type: str
    backing: Backing | None = None
    physical_id: str | None = None
    unmapped: tuple[str, ...] = ()
    """Paths of template properties that had no place in the API call."""
    reason: str | None = None
    """Why it failed, in the words of whoever refused it."""

    @property
    def key(self) -> tuple[str, str]:
        """Stack and logical id: what stays the same over a resource's life."""
        return self.stack, self.logical_id


class DeviationEntry(_Entry):
    """A place where the emulator's backend differs from AWS and was bridged."""

    kind: Literal["deviation"]
    name: str
    why: str


class SeedEntry(_Entry):
    """Something that a real Region has and the emulator was given."""

    kind: Literal["seed"]
    what: str
    why: str


class HeldBackEntry(_Entry):
    """A part of a template that the emulator left out because its backend would misread it."""

    kind: Literal["held_back"]
    stack: str
    logical_id: str
    what: str
    why: str


Entry = ResourceEntry | DeviationEntry | SeedEntry | HeldBackEntry
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(discriminator="kind")])


class Ledger:
    """The entries so far. `poll` reads what was added; a line that is still being written waits for the next poll."""

    def __init__(self, path: Path) -> None:
        """Read from this file, which need not exist yet."""
        self._path = path
        self._offset = 0
        self.entries: list[Entry] = []

    def poll(self) -> list[Entry]:
        """Read and return the entries that were written since the last poll.

        Raises:
            LedgerError: a line is not in the ledger's format.
        """
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            complete, newline, _ = file.read().rpartition(b"\n")
        self._offset += len(complete) + len(newline)
        try:
            new = [_ENTRY.validate_json(line) for line in complete.splitlines()]
        except ValidationError as error:
            raise LedgerError(f"{self._path} has a line that is not a ledger entry: {error}") from error
        self.entries += new
        return new

    def resources(self, since: int = 0) -> list[ResourceEntry]:
        """What happened to resources, from the entry with this number on."""
        return [entry for entry in self.entries[since:] if isinstance(entry, ResourceEntry)]
