"""Provisions a type that nothing stands behind: it gets an id and is reported as a record."""

from dataclasses import replace
from typing import Any

from slipway.rehearsal.emulator.ledger import Backing
from slipway.rehearsal.emulator.resources.expressions import evaluate
from slipway.rehearsal.emulator.resources.handler import Existing, Provisioned, Request
from slipway.rehearsal.emulator.resources.row import Record
from slipway.rehearsal.emulator.settings import ACCOUNT

_LONGEST_GENERATED = 60


class RecordHandler:
    """Answers ids and attributes, and does nothing."""

    backing: Backing = "record"

    def __init__(self, record: Record) -> None:
        self.record = record

    def create(self, request: Request) -> Provisioned:
        """Make an id up."""
        name = self.record.name
        if name:
            generated = request.generated_name(name.longest)
            request = replace(request, properties={name.property: generated, **request.properties})
        known: dict[str, Any] = {
            "properties": dict(request.properties),
            "generated": request.generated_name(_LONGEST_GENERATED),
            "region": request.stack.region,
            "account": ACCOUNT,
        }
        known["id"] = str(evaluate(self.record.physical_id, known))
        attributes = {name: evaluate(text, known) for name, text in self.record.attributes.items()}
        return Provisioned(known["id"], attributes)

    def can_update(self, changed: frozenset[str]) -> bool:
        """Always: there is nothing that could refuse."""
        return True

    def update(self, request: Request, existing: Existing, changed: frozenset[str]) -> Provisioned:
        """Keep the id."""
        return Provisioned(existing.physical_id)

    def delete(self, request: Request, existing: Existing) -> None:
        """Nothing is there."""
