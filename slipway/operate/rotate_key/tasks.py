"""The tasks of an endpoint's models: how they come to read the secret again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slipway.errors import FailedError

POLL_SECONDS = 15.0
"""How often Amazon ECS is asked about a deployment."""

AGAIN = "The same command again goes on where this one stopped"
"""What to do when not every task has taken the keys that were written."""

_MOST_SERVICES = 10
"""So many services can be described at once (Amazon ECS API reference, DescribeServices)."""


@dataclass(frozen=True)
class Tasks:
    """The tasks of the endpoint's models.

    Attributes:
        ecs: boto3 client.
        cluster: name of the ECS cluster.
        timeout_seconds: how long a replacement is followed.
    """

    ecs: Any
    cluster: str
    timeout_seconds: float

    def services(self) -> Sequence[str]:
        """Return the names of the services behind the load balancer: the cluster has others that watch its hosts."""
        pages = self.ecs.get_paginator("list_services").paginate(
            cluster=self.cluster, PaginationConfig={"PageSize": _MOST_SERVICES}
        )
        return sorted(
            service["serviceName"]
            for page in pages
            if page["serviceArns"]
            for service in self.ecs.describe_services(cluster=self.cluster, services=page["serviceArns"])["services"]
            if service.get("loadBalancers")
        )

    def replace(self, tell: Callable[[str], None]) -> None:
        """Have new tasks read the secret, and wait for them.

        Args:
            tell: called with a line of progress.

        Raises:
            FailedError: they do not become healthy, or not in time.
        """
        begun = {service: self._begin(service) for service in self.services()}
        ends = time.monotonic() + self.timeout_seconds
        for service, deployment in begun.items():
            tell(f"{service}: its tasks are replaced")
            while not self._is_done(service, deployment):
                if time.monotonic() > ends:
                    raise FailedError(f"{service} still replaces its tasks. {AGAIN}")
                time.sleep(POLL_SECONDS)
            tell(f"{service}: done")

    def _begin(self, service: str) -> str:
        updated = self.ecs.update_service(cluster=self.cluster, service=service, forceNewDeployment=True)
        return str(_primary(updated["service"])["id"])

    def _is_done(self, service: str, deployment: str) -> bool:
        """Return whether every task is one of the deployment; a service without tasks has none that knows old keys."""
        [found] = self.ecs.describe_services(cluster=self.cluster, services=[service])["services"]
        if found["desiredCount"] == 0:
            return True
        primary = _primary(found)
        if primary["id"] != deployment or primary["rolloutState"] == "FAILED":
            raise FailedError(
                f"{service}: Amazon ECS has ended this replacement of its tasks; the service's events in the ECS "
                f"console say why. {AGAIN}"
            )
        return bool(primary["rolloutState"] == "COMPLETED")


def _primary(service: Mapping[str, Any]) -> Any:
    return next(each for each in service["deployments"] if each["status"] == "PRIMARY")
