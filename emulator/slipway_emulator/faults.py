"""Failures that a test asks for: an operation on a resource fails once."""

import json
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

from slipway_emulator.failures import ProvisioningError

Moment = Literal["before create", "after create", "before update", "after update", "before delete"]
"""`before`: nothing was done. `after`: it was done, and the service reports a failure all the same, as a file system
does that ends in the state FAILED."""


@dataclass(frozen=True)
class Fault:
    """One failure."""

    stack: str
    logical_id: str
    moment: Moment


class Faults:
    """The failures that are still to come, in a file that a test writes."""

    def __init__(self, file: Path) -> None:
        """Take the file: a JSON list of `[stack, logical id, moment]`. It need not exist."""
        self._file = file
        self._lock = Lock()

    def ask_for(self, *faults: Fault) -> None:
        """Replace all failures that are still to come."""
        rows = [[fault.stack, fault.logical_id, fault.moment] for fault in faults]
        self._file.write_text(json.dumps(rows), encoding="utf-8")

    def to_come(self) -> list[Fault]:
        """Return the failures that did not happen yet."""
        if not self._file.exists():
            return []
        return [Fault(*row) for row in json.loads(self._file.read_text(encoding="utf-8"))]

    def strike(self, stack: str, logical_id: str, moment: Moment) -> None:
        """Fail if a test asked for it.

        Raises:
            ProvisioningError: it did.
        """
        with self._lock:
            fault, faults = Fault(stack, logical_id, moment), self.to_come()
            if fault not in faults:
                return
            self.ask_for(*(each for each in faults if each != fault))
        raise ProvisioningError(
            'Resource handler returned message: "a test asked for this failure" (HandlerErrorCode: InternalFailure)'
        )
