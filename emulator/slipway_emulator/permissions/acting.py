"""On whose behalf this thread works: what the emulator itself calls is signed by nobody.

CloudFormation makes a stack's resources as the stack's role, and Lambda writes a function's log as the function's role.
Their calls go through the emulator's own clients, which say so in a header.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

HEADER = "X-Slipway-Acting-For"

TAGS_HEADER = "X-Slipway-Stack-Tags"
"""The tags of the stack that is worked on, as JSON: CloudFormation gives them to each resource that takes tags."""

ADMINISTRATOR = "administrator"
"""The emulated account's administrator, who bootstraps, and the emulator itself: both may do everything."""

Tags = Mapping[str, str]

_acting: ContextVar[str] = ContextVar("acting", default=ADMINISTRATOR)
_stack_tags: ContextVar[Tags] = ContextVar("stack_tags", default=MappingProxyType({}))


def current() -> str:
    """Return the ARN of the user or role, or `ADMINISTRATOR`."""
    return _acting.get()


def stack_tags() -> Tags:
    """Return the tags of the stack that this thread works on."""
    return _stack_tags.get()


@contextmanager
def acting_for(arn: str, tags: Tags = MappingProxyType({})) -> Iterator[None]:
    """Make the calls of this thread those of a user or role for a while.

    Args:
        arn: of the user or role, or `ADMINISTRATOR`.
        tags: of the stack that is worked on.
    """
    tokens = _acting.set(arn), _stack_tags.set(tags)
    try:
        yield
    finally:
        _acting.reset(tokens[0])
        _stack_tags.reset(tokens[1])
