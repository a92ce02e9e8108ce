"""What ParallelCluster says of updates: the changes of each, in a JSON form that both sides read."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Stop(StrEnum):
    """Nodes that must be stopped before an update."""

    COMPUTE_FLEET = "compute fleet"
    LOGIN_NODES = "login nodes"


@dataclass(frozen=True)
class Change:
    """One field of the configuration that differs, and what ParallelCluster's update policy says of it."""

    path: str
    """Path of the field, for example `Scheduling.SlurmQueues[trn1].ComputeResources[trn1-32xl].MaxCount`."""

    old: Any
    """The deployed value; none for a field or an item that is new."""

    new: Any
    """The wanted value; none for a field or an item that goes."""

    policy: str
    """Name of ParallelCluster's update policy of the field."""

    allowed: bool
    """Whether ParallelCluster makes the change at all, if need be with nodes stopped."""

    stop: tuple[Stop, ...]
    """What must be stopped first; empty when the change is possible while all nodes run, or not at all."""

    by_strategy: bool
    """Whether only `QueueUpdateStrategy` lets it through while nodes run: the queue's nodes are drained or ended."""

    passes_provider: bool
    """Whether the provider, for which `false` is a text, lets it through although the nodes should be stopped."""

    reason: str
    """Why it is not possible while all nodes run, in ParallelCluster's words; empty when it is."""

    action: str
    """What to do about it, in ParallelCluster's words."""


@dataclass(frozen=True)
class Update:
    """The update of one cluster."""

    changes: tuple[Change, ...]
    """Every field that differs, in the order of ParallelCluster's schema."""

    @property
    def allowed(self) -> bool:
        """Whether ParallelCluster makes the update at all."""
        return all(change.allowed for change in self.changes)

    @property
    def stop(self) -> tuple[Stop, ...]:
        """What must be stopped before the update."""
        needed = {item for change in self.changes for item in change.stop}
        return tuple(item for item in Stop if item in needed)


def to_json(updates: Sequence[Update]) -> str:
    """Write updates as JSON."""
    return json.dumps([asdict(update) for update in updates])


def from_json(text: str) -> list[Update]:
    """Read what `to_json` wrote."""
    return [Update(tuple(_change(row) for row in update["changes"])) for update in json.loads(text)]


def _change(row: dict[str, Any]) -> Change:
    return Change(**{**row, "stop": tuple(Stop(item) for item in row["stop"])})
