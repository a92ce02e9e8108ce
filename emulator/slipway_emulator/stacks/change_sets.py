"""Change sets: an operation that was prepared and waits to be executed."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import uuid4

from slipway_emulator.settings import ACCOUNT, PARTITION
from slipway_emulator.stacks.changes import Change
from slipway_emulator.stacks.model import Stack, Submission, now

NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."


@dataclass(frozen=True)
class ChangeSet:
    """A prepared operation.

    Attributes:
        failure: Why it cannot be executed; empty when it can.
    """

    name: str
    stack: Stack
    kind: Literal["CREATE", "UPDATE"]
    submission: Submission
    description: str | None
    changes: tuple[Change, ...] = ()
    failure: str = ""
    created_at: datetime = field(default_factory=now)
    token: str = field(default_factory=lambda: str(uuid4()))

    @property
    def id(self) -> str:
        """The change set's ARN."""
        region = self.stack.region
        return f"arn:{PARTITION}:cloudformation:{region}:{ACCOUNT}:changeSet/{self.name}/{self.token}"
