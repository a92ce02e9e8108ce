"""The tasks of a model's services, as Amazon ECS counts them."""

from dataclasses import dataclass
from typing import Any

from slipway_pause.part import TAG


@dataclass(frozen=True)
class Tasks:
    """How many tasks a service has.

    Attributes:
        running: tasks that run.
        wanted: tasks that shall run.
    """

    running: int
    wanted: int

    def __str__(self) -> str:
        """Say it in a few words."""
        return f"{self.running} of {self.wanted} tasks"


def find_tasks(ecs: Any, cluster: str, service: str) -> Tasks:
    """Return how many tasks a service has; none where there is no such service.

    Raises:
        botocore.exceptions.ClientError: AWS refuses.
    """
    found = ecs.describe_services(cluster=cluster, services=[service])["services"]
    return Tasks(found[0]["runningCount"], found[0]["desiredCount"]) if found else Tasks(0, 0)


def is_paused(ecs: Any, cluster: str, service: str) -> bool:
    """Return whether a budget, or `slipway pause`, has stopped a service and nobody has resumed it.

    Raises:
        botocore.exceptions.ClientError: AWS refuses.
    """
    found = ecs.describe_services(cluster=cluster, services=[service], include=["TAGS"])["services"]
    return any(tag["key"] == TAG for row in found for tag in row.get("tags", ()))
