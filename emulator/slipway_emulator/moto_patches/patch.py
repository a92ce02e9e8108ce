"""The form of a bridged gap."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class MotoPatch:
    """A departure of moto from AWS and what is done about it.

    Attributes:
        name: Short and stable; the report lists it.
        why: What moto does, what AWS does, one sentence.
        bridge: Replaces the members of moto that depart.
    """

    name: str
    why: str
    bridge: Callable[[], None]
