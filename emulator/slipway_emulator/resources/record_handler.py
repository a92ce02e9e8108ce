"""Provisions a type that nothing stands behind: it gets an id and is reported as a record."""

from slipway_emulator.ledger import Backing
from slipway_emulator.resources.expressions import evaluate
from slipway_emulator.resources.handler import Existing, Provisioned, Request
from slipway_emulator.resources.known import known, with_generated_name
from slipway_emulator.resources.row import Record


class RecordHandler:
    """Answers ids and attributes, and does nothing."""

    backing: Backing = "record"

    def __init__(self, record: Record) -> None:
        self.record = record

    def create(self, request: Request) -> Provisioned:
        """Make an id up."""
        about = known(with_generated_name(request, self.record.name))
        about["id"] = str(evaluate(self.record.physical_id, about))
        attributes = {name: evaluate(text, about) for name, text in self.record.attributes.items()}
        return Provisioned(about["id"], attributes)

    def can_update(self, changed: frozenset[str]) -> bool:
        """Always: there is nothing that could refuse."""
        return True

    def update(self, request: Request, existing: Existing, changed: frozenset[str]) -> Provisioned:
        """Keep the id."""
        return Provisioned(existing.physical_id)

    def delete(self, request: Request, existing: Existing) -> None:
        """Nothing is there."""
