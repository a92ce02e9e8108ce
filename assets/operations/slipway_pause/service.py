"""A service that serves a model, brought to zero tasks; its hosts go when ECS finds that none needs them."""

import re
from dataclasses import dataclass
from typing import Any

from slipway_pause.part import TAG, StateError

_DIMENSION = "ecs:service:DesiredCount"
# Order and names of the memory's letters: scaling that was suspended before stays suspended afterwards.
_SUSPENSIONS = {"i": "DynamicScalingInSuspended", "o": "DynamicScalingOutSuspended", "s": "ScheduledScalingSuspended"}


@dataclass(frozen=True)
class Memory:
    """How a service ran.

    Attributes:
        desired: tasks that were wanted.
        minimum: fewest tasks, for a service that scales.
        suspended: letters of what was suspended of its scaling.
    """

    desired: int
    minimum: int | None = None
    suspended: str = ""

    def __str__(self) -> str:
        """Write it as a tag's value."""
        scaling = "" if self.minimum is None else f" minimum={self.minimum} suspended={self.suspended}"
        return f"desired={self.desired}{scaling}"

    @classmethod
    def read(cls, text: str) -> "Memory":
        """Read a tag's value.

        Raises:
            StateError: it is none that this wrote.
        """
        found = re.fullmatch(r"desired=(\d+)(?: minimum=(\d+) suspended=([ios]*))?", text)
        if not found:
            raise StateError(f"the tag {TAG} is not Slipway's: {text}")
        desired, minimum, suspended = found.groups()
        return cls(int(desired), None if minimum is None else int(minimum), suspended or "")


@dataclass(frozen=True)
class Service:
    """An ECS service.

    Attributes:
        ecs: boto3 client.
        scaling: boto3 client of Application Auto Scaling.
        cluster: name of its ECS cluster.
        service: its name.
    """

    ecs: Any
    scaling: Any
    cluster: str
    service: str

    @property
    def name(self) -> str:
        """What people know it by."""
        return f"inference service {self.service}"

    def stop(self) -> str | None:
        """Hold what would start tasks, and want none.

        Whatever wakes the service at another hour is held, too: a schedule, a metric, the fewest tasks of its scaling.
        """
        row, target = self._row(), self._target()
        if row is None:
            return None
        tasks, memory = row["desiredCount"], _memory_of(row)
        if memory is None:
            if not tasks and target is None:
                return None
            memory = Memory(tasks, *_scaling_of(target))
            self.ecs.tag_resource(resourceArn=row["serviceArn"], tags=[{"key": TAG, "value": str(memory)}])
        if target is not None:
            self._register(0, "".join(_SUSPENSIONS))
        if not tasks:
            return f"has no task; it had {memory.desired}"
        self.ecs.update_service(cluster=self.cluster, service=self.service, desiredCount=0)
        return f"{tasks} task{'s' * (tasks != 1)} to 0; requests in flight end first, hosts go within half an hour"

    def start(self) -> str | None:
        """Want as many tasks as before, and let its scaling work again."""
        row = self._row()
        memory = _memory_of(row) if row else None
        if row is None or memory is None:
            return None
        target, desired = self._target(), memory.desired
        if target is not None:
            # A deployment, or a schedule, may allow fewer by now, and nothing takes off what is above it.
            desired = min(desired, target["MaxCapacity"])
        self.ecs.update_service(cluster=self.cluster, service=self.service, desiredCount=desired)
        if target is not None and memory.minimum is not None:
            self._register(min(memory.minimum, target["MaxCapacity"]), memory.suspended)
        self.ecs.untag_resource(resourceArn=row["serviceArn"], tagKeys=[TAG])
        return f"{desired} task{'s' * (desired != 1)} wanted"

    def remembered(self) -> str | None:
        """How many tasks were wanted."""
        row = self._row()
        memory = _memory_of(row) if row else None
        return f"{memory.desired} task{'s' * (memory.desired != 1)}" if memory else None

    def _row(self) -> dict[str, Any] | None:
        """Return the service, or none where it is not there: no model has been rolled out, or no stack deployed."""
        try:
            answer = self.ecs.describe_services(cluster=self.cluster, services=[self.service], include=["TAGS"])
        except self.ecs.exceptions.ClusterNotFoundException:
            return None
        return next((row for row in answer["services"] if row["status"] == "ACTIVE"), None)

    def _target(self) -> dict[str, Any] | None:
        """Return what Application Auto Scaling knows of the service; none where nothing scales it."""
        answer = self.scaling.describe_scalable_targets(ServiceNamespace="ecs", ResourceIds=[self._resource])
        return next((row for row in answer["ScalableTargets"] if row["ScalableDimension"] == _DIMENSION), None)

    @property
    def _resource(self) -> str:
        return f"service/{self.cluster}/{self.service}"

    def _register(self, minimum: int, suspended: str) -> None:
        self.scaling.register_scalable_target(
            ServiceNamespace="ecs",
            ResourceId=self._resource,
            ScalableDimension=_DIMENSION,
            MinCapacity=minimum,
            SuspendedState={name: letter in suspended for letter, name in _SUSPENSIONS.items()},
        )


def _memory_of(row: dict[str, Any]) -> Memory | None:
    return next((Memory.read(tag["value"]) for tag in row.get("tags", []) if tag["key"] == TAG), None)


def _scaling_of(target: dict[str, Any] | None) -> tuple[int | None, str]:
    if target is None:
        return None, ""
    state = target.get("SuspendedState", {})
    return target["MinCapacity"], "".join(letter for letter, name in _SUSPENSIONS.items() if state.get(name))
