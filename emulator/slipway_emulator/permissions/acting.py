"""On whose behalf this thread works: what the emulator itself calls is signed by nobody.

CloudFormation makes a stack's resources as the stack's role, Lambda writes a function's log as the function's role. Their
calls go through the emulator's own clients, which say so in a header.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

HEADER = "X-Slipway-Acting-For"

ADMINISTRATOR = "administrator"
"""The emulated account's administrator, who bootstraps, and the emulator itself: both may do everything."""

_acting: ContextVar[str] = ContextVar("acting", default=ADMINISTRATOR)


def current() -> str:
    """Return the ARN of the user or role, or `ADMINISTRATOR`."""
    return _acting.get()


@contextmanager
def acting_for(arn: str) -> Iterator[None]:
    """Make the calls of this thread those of a user or role for a while."""
    token = _acting.set(arn)
    try:
        yield
    finally:
        _acting.reset(token)
