"""What a rule says, for every set of rules that Slipway reads templates with.

A rule is a function that yields what breaks it. Its docstring is the rule as users read it, its name (with hyphens) is
its id.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

Severity = Literal["error", "warning"]
"""An error costs a failed deployment, an open door, lost data or an alarm that never fires; a warning costs time or
money."""

Check = TypeVar("Check", bound=Callable[..., Any])


@dataclass(frozen=True)
class Rule(Generic[Check]):
    """One rule."""

    id: str
    """What reports and the documentation call it, for example `efa-where-it-exists`."""

    topic: str
    """What it is about: the name of its module, for example `storage`."""

    severity: Severity
    statement: str
    """What must hold."""

    reason: str
    """What it costs to break it, as sentences."""

    fix: str
    """What to write, as sentences."""

    source: str
    """Where the reason can be read."""

    check: Check
    """Finds what breaks it."""


def rule_of(
    function: Callable[..., Any], check: Check, *, severity: Severity, reason: str, fix: str, source: str
) -> Rule[Check]:
    """Make the rule that a function states.

    Args:
        function: its name, docstring and module are the rule's id, statement and topic.
        check: finds what breaks the rule; the function itself, or one around it.
        severity: `error` or `warning`.
        reason: what it costs to break it, as sentences.
        fix: what to write, as sentences.
        source: where the reason can be read.
    """
    name = function.__name__.replace("_", "-")
    topic = function.__module__.rpartition(".")[2]
    return Rule(name, topic, severity, " ".join((function.__doc__ or "").split()), reason, fix, source, check)
