"""A target group: which targets are healthy, which one takes a request, and how one leaves."""

import asyncio
import contextlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import aiohttp

from tests.endpoint.gateway_template import TargetGroup as TargetGroupProperties

_WITHOUT_EFFECT_HERE: Mapping[str, frozenset[str]] = {
    "stickiness.enabled": frozenset({"false"}),
    "slow_start.duration_seconds": frozenset({"0"}),
}
# On a busy machine an answer takes longer than a scaled-down limit; no test is about a health check that hangs.
_LEAST_SECONDS_FOR_AN_ANSWER = 5.0


class State(Enum):
    """States of a target, by AWS's names."""

    INITIAL = "initial"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    DRAINING = "draining"


@dataclass(eq=False)
class Target:
    """One registered address."""

    host: str
    port: int
    state: State = State.INITIAL
    requests: set[Any] = field(default_factory=set)
    """Clients' connections whose requests run here."""

    streak: int = 0
    """Health checks in a row that speak against the state."""


class TargetGroup:
    """Registered targets and the health checks that watch them."""

    def __init__(
        self, properties: TargetGroupProperties, session: aiohttp.ClientSession, *, scale: float, chance: random.Random
    ) -> None:
        """Read the attributes.

        Args:
            properties: the group's properties in the template.
            session: what health checks are made with.
            scale: real seconds for one of the template's.
            chance: decides between targets that are alike.

        Raises:
            ValueError: an attribute that the gateway does not know.
        """
        attributes = dict(properties.target_group_attributes)
        self.deregistration_seconds = int(attributes.pop("deregistration_delay.timeout_seconds", "300"))
        self.algorithm = attributes.pop("load_balancing.algorithm.type", "round_robin")
        for name, value in attributes.items():
            if value not in _WITHOUT_EFFECT_HERE.get(name, ()):
                raise ValueError(f"the gateway does not know the target group attribute {name}={value}")
        if self.algorithm not in ("round_robin", "least_outstanding_requests"):
            raise ValueError(f"the gateway does not know the algorithm {self.algorithm}")
        self.properties, self.targets = properties, list[Target]()
        self._session, self._scale, self._chance = session, scale, chance
        self._codes = _codes(properties.matcher.http_code)
        self._watchers: dict[Target, asyncio.Task[None]] = {}

    def register(self, target: Target) -> None:
        """Add a target; it takes requests once its first health check is passed."""
        self.targets.append(target)
        self._watchers[target] = asyncio.create_task(self._watch(target))

    async def deregister(self, target: Target, *, closes_connections: bool) -> None:
        """Take a target out: no new request at once, running ones go on until the delay is over or they are done.

        Args:
            target: the target.
            closes_connections: whether requests that still run after the delay lose their connection. AWS documents
                that only for Classic and Network Load Balancers.
        """
        target.state = State.DRAINING
        self._watchers.pop(target).cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.deregistration_seconds * self._scale):
                while target.requests:
                    await asyncio.sleep(0.005)
        self.targets.remove(target)
        if closes_connections:
            for transport in list(target.requests):
                transport.abort()

    def choose(self) -> Target | None:
        """Return the target for a request; None when none is registered.

        Without a healthy one all take requests ("fail open"), as AWS documents it.
        """
        registered = [target for target in self.targets if target.state is not State.DRAINING]
        healthy = [target for target in registered if target.state is State.HEALTHY]
        candidates = healthy or registered
        if not candidates:
            return None
        if self.algorithm == "round_robin":
            # In turn: the first goes to the back of the list.
            self.targets.remove(candidates[0])
            self.targets.append(candidates[0])
            return candidates[0]
        fewest = min(len(target.requests) for target in candidates)
        return self._chance.choice([target for target in candidates if len(target.requests) == fewest])

    async def close(self) -> None:
        """Stop the health checks."""
        for watcher in self._watchers.values():
            watcher.cancel()
        await asyncio.gather(*self._watchers.values(), return_exceptions=True)

    async def _watch(self, target: Target) -> None:
        while True:
            self._judge(target, passed=await self._check(target))
            await asyncio.sleep(self.properties.health_check_interval_seconds * self._scale)

    async def _check(self, target: Target) -> bool:
        # The load balancer does not verify a target's certificate; the session neither.
        scheme = self.properties.health_check_protocol.lower()
        address = f"{scheme}://{target.host}:{target.port}{self.properties.health_check_path}"
        seconds = max(self.properties.health_check_timeout_seconds * self._scale, _LEAST_SECONDS_FOR_AN_ANSWER)
        try:
            async with self._session.get(address, timeout=aiohttp.ClientTimeout(seconds)) as answer:
                return answer.status in self._codes
        except (aiohttp.ClientError, TimeoutError):
            return False

    def _judge(self, target: Target, *, passed: bool) -> None:
        if target.state is (State.HEALTHY if passed else State.UNHEALTHY):
            target.streak = 0
            return
        target.streak += 1
        properties = self.properties
        # A new target needs to pass one check only.
        needed = properties.healthy_threshold_count if passed else properties.unhealthy_threshold_count
        if target.streak >= needed or (passed and target.state is State.INITIAL):
            target.state, target.streak = State.HEALTHY if passed else State.UNHEALTHY, 0


def _codes(matcher: str) -> frozenset[int]:
    """Return the status codes that a matcher such as `200,300-302` names."""
    codes = set[int]()
    for part in matcher.split(","):
        first, _, last = part.partition("-")
        codes.update(range(int(first), int(last or first) + 1))
    return frozenset(codes)
