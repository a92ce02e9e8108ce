"""What can be stopped and started again, and what became of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

TAG = "slipway:paused"
"""Key of the tag that remembers how a part ran: on what is stopped, so that it goes when that goes."""


class Part(Protocol):
    """One thing that runs and costs money by the hour."""

    @property
    def name(self) -> str:
        """What people know it by."""

    def stop(self) -> str | None:
        """Stop it and remember how it ran; a second time changes nothing that is stopped.

        Returns:
            What was done, in words; none when there was nothing to stop.

        Raises:
            StateError: it is in a state that cannot be changed.
            botocore.exceptions.ClientError: AWS refused.
        """

    def start(self) -> str | None:
        """Have it run as it did before it was stopped, and forget that.

        Returns:
            What was done, in words; none when nobody stopped it.

        Raises:
            StateError: it is in a state that cannot be changed.
            botocore.exceptions.ClientError: AWS refused.
        """

    def remembered(self) -> str | None:
        """How it ran before it was stopped, in words; none when it was not stopped.

        Raises:
            StateError: somebody else has written the tag that remembers it.
            botocore.exceptions.ClientError: AWS refused.
        """


class StateError(Exception):
    """A part is in a state in which it can neither be stopped nor started; the message says which."""


@dataclass(frozen=True)
class Outcome:
    """What became of a part.

    Attributes:
        part: its name.
        said: what was done, or why it was not.
        failed: whether it is not as it should be.
    """

    part: str
    said: str
    failed: bool = False

    def __str__(self) -> str:
        return f"{self.part}: {self.said}"


def attempt(name: str, change: Callable[[], str | None]) -> Outcome | None:
    """Change a part; a refusal is an outcome, so that the others are changed nevertheless.

    Returns:
        What became of it; none when there was nothing to do.
    """
    try:
        said = change()
    except (StateError, BotoCoreError, ClientError) as error:
        return Outcome(name, str(error), failed=True)
    return Outcome(name, said) if said else None


def is_error(error: ClientError, *codes: str) -> bool:
    """Tell whether AWS answered with one of these error codes."""
    answered: Any = error.response
    return answered["Error"]["Code"] in codes
