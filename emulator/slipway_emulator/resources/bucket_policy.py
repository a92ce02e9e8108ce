"""Bucket policies: stored whole, but what they deny under a condition is not enforced."""

from collections.abc import Iterator, Mapping
from typing import Any

from slipway_emulator.clients import Clients
from slipway_emulator.ledger import Ledger
from slipway_emulator.resources.handler import Existing, Provisioned, Request
from slipway_emulator.resources.row import Row
from slipway_emulator.resources.row_handler import RowHandler


class BucketPolicyHandler(RowHandler):
    """Puts the policy by its row and writes down which of its statements have no effect here."""

    def __init__(self, row: Row, clients: Clients, ledger: Ledger) -> None:
        super().__init__(row, clients)
        self._ledger = ledger

    def create(self, request: Request) -> Provisioned:
        """Put the policy."""
        self._note_unenforced(request)
        return super().create(request)

    def update(self, request: Request, existing: Existing, changed: frozenset[str]) -> Provisioned:
        """Put the new document."""
        self._note_unenforced(request)
        return super().update(request, existing, changed)

    def _note_unenforced(self, request: Request) -> None:
        for key in sorted(set(conditional_denials(request.properties["PolicyDocument"]))):
            self._ledger.held_back(
                request.stack.name,
                request.logical_id,
                f"Deny on {key}",
                "stored with the policy but not enforced: moto knows no conditions, and loopback is plain http",
            )


def conditional_denials(document: Mapping[str, Any]) -> Iterator[str]:
    """The condition keys, such as ``aws:SecureTransport``, of a policy's Deny statements."""
    statements = document["Statement"]
    for statement in statements if isinstance(statements, list) else [statements]:
        if statement.get("Effect") == "Deny":
            for keys in statement.get("Condition", {}).values():
                yield from keys
