"""The ledger: one JSON line for everything that a reader of the rehearsal's report must be able to check."""

import json
import threading
from pathlib import Path
from typing import Any, Literal

Action = Literal["create", "update", "replace", "delete", "retain", "rollback", "failed"]
Backing = Literal["api", "lambda", "nested", "record"]
"""What stood behind a resource: an API call to moto, the stack's own Lambda code, another stack, or nothing."""

_HIDDEN = "****"
_SHORTEST_SECRET = 4  # characters; blanking shorter ones would blank ordinary words


class Ledger:
    """Appends JSON lines to a file; safe to use from several threads.

    Property values are never written, only names. Values registered with `hide` (resolved secrets) are blanked
    wherever they turn up, for instance in an API's error message.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._hidden: set[str] = set()

    def hide(self, value: str) -> None:
        """Never write this value from now on."""
        if len(value) >= _SHORTEST_SECRET:
            with self._lock:
                self._hidden |= {value, json.dumps(value)[1:-1]}  # also as it looks inside a JSON string

    def without_hidden(self, text: str) -> str:
        """The text with every hidden value blanked; longer values first, since one may contain another."""
        with self._lock:
            hidden = sorted(self._hidden, key=len, reverse=True)
        for value in hidden:
            text = text.replace(value, _HIDDEN)
        return text

    def resource(self, action: Action, **fields: Any) -> None:
        """Write what happened to one resource."""
        self._write("resource", {"action": action, **fields})

    def deviation(self, name: str, why: str) -> None:
        """Write that a departure of moto from AWS was bridged."""
        self._write("deviation", {"name": name, "why": why})

    def seed(self, what: str, why: str) -> None:
        """Write that something was put in place that a real region already holds."""
        self._write("seed", {"what": what, "why": why})

    def held_back(self, stack: str, logical_id: str, what: str, why: str) -> None:
        """Write that a part of the template was deliberately not applied."""
        self._write("held_back", {"stack": stack, "logical_id": logical_id, "what": what, "why": why})

    def _write(self, kind: str, fields: dict[str, Any]) -> None:
        line = self.without_hidden(json.dumps({"kind": kind, **fields}, default=str))
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
