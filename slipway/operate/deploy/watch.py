"""How far a deployment is: what CloudFormation's events say of each stack of an assembly."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from slipway.assembly.stacks import Stack
from slipway.aws.account import Account
from slipway.aws.stacks import NESTED_STACK, DeployedStack, StackEvent, deployed_stacks, deployed_template, new_events
from slipway.review.cost.estimate import estimate as cost_of
from slipway.review.deploy_time.estimate import estimate as time_of

_SECONDS_PER_HOUR = 3600

ABANDONED = "REVIEW_IN_PROGRESS"
"""State of a stack whose change set was never executed: it has no resources."""


@dataclass
class StackProgress:
    """One stack during a deployment.

    Attributes:
        name: its name.
        changed: logical ids of the resources that are new or differ from what is deployed.
        status: its stack status, for example `CREATE_IN_PROGRESS`; empty if the stack does not exist.
        begun: whether CloudFormation has changed it since the deployment began.
        latest: the last event of each resource since then.
        started: when each resource that did not exist was begun.
    """

    name: str
    changed: frozenset[str]
    status: str = ""
    begun: bool = False
    latest: dict[str, StackEvent] = field(default_factory=dict)
    started: dict[str, datetime] = field(default_factory=dict)
    _id: str = ""
    _seen: str = ""

    @property
    def total(self) -> int:
        """How many resources change; CloudFormation may find more than the template shows, or fewer."""
        return len(self.changed | self.latest.keys()) if not self.is_done else len(self.latest)

    @property
    def done(self) -> int:
        """How many of them are done."""
        return sum(event.status.endswith("_COMPLETE") for event in self.latest.values())

    @property
    def is_done(self) -> bool:
        """Whether CloudFormation has begun and finished it."""
        return self.begun and not self.status.endswith("_IN_PROGRESS")

    def take(self, stack: DeployedStack | None, cloudformation: Any) -> list[StackEvent]:
        """Read the events since the last call; return them, oldest first."""
        if stack is None or (stack.id == self._id and stack.status == self.status and self._is_at_rest):
            self.status = stack.status if stack else ""
            return []
        if stack.id != self._id:  # the CDK CLI deletes a stack whose creation failed, and begins again
            self._id, self._seen = stack.id, ""
            self.latest.clear()
            self.started.clear()
        self.status = stack.status
        events = new_events(cloudformation, stack.id, self._seen)
        for event in events:
            self._seen = event.id
            if event.is_stack:
                self.begun = self.begun or event.status != ABANDONED
            else:
                self.latest[event.logical_id] = event
                if event.status == "CREATE_IN_PROGRESS":
                    self.started.setdefault(event.logical_id, event.time)
        return events

    @property
    def _is_at_rest(self) -> bool:
        return not self.status.endswith("_IN_PROGRESS") or self.status == ABANDONED

    def forget_history(self, stack: DeployedStack, cloudformation: Any) -> None:
        """Skip the events before this deployment."""
        self.take(stack, cloudformation)
        self.begun = False
        self.latest.clear()
        self.started.clear()


class Watch:
    """Looks at the stacks of an assembly, and at those of their clusters, while they are deployed."""

    def __init__(
        self,
        assembly: Path,
        stacks: Iterable[Stack],
        cluster_names: Iterable[str],
        deployed: Mapping[str, DeployedStack],
        account: Account,
    ) -> None:
        """Compare the assembly with what is deployed.

        Args:
            assembly: the cloud assembly's folder.
            stacks: its stacks.
            cluster_names: names of its Slurm clusters: each has a stack of its own, which ParallelCluster makes.
            deployed: the stacks that are there, by name.
            account: where they are.
        """
        self._assembly = assembly
        self._account = account
        self.region = account.region
        self._cloudformation = account.client("cloudformation")
        stacks = tuple(stacks)
        self.stacks = [StackProgress(stack.name, self._changed(stack, deployed)) for stack in stacks]
        self._all = [*self.stacks, *(StackProgress(name, frozenset()) for name in cluster_names)]
        for progress in self._all:
            if progress.name in deployed:
                progress.forget_history(deployed[progress.name], self._cloudformation)
        self.events: list[StackEvent] = []
        self._usd_per_hour: dict[tuple[str, str], float] = {}
        for line in cost_of(stacks).lines:
            key = (line.stack, line.logical_id)
            self._usd_per_hour[key] = self._usd_per_hour.get(key, 0.0) + (line.idle_usd_per_hour or 0.0)

    def _changed(self, stack: Stack, deployed: Mapping[str, DeployedStack]) -> frozenset[str]:
        resources: Mapping[str, Any] = stack.template["Resources"]
        there = None
        if stack.name in deployed and deployed[stack.name].status != ABANDONED:
            there = deployed_template(self._cloudformation, stack.name)
        before = (there or {}).get("Resources", {})
        return frozenset(name for name, resource in resources.items() if resource != before.get(name))

    def look(self) -> list[StackEvent]:
        """Return the events since the last call.

        Raises:
            ClientError, BotoCoreError: AWS does not answer; the next call reads the same events.
        """
        there = deployed_stacks(self._cloudformation)
        news = [
            event for progress in self._all for event in progress.take(there.get(progress.name), self._cloudformation)
        ]
        self.events += news
        return news

    @property
    def seconds_left(self) -> int:
        """Seconds until the longest chain of unfinished resources is done, by mean create times."""
        open_, spent = set(), {}
        now = self._account.clock()
        for stack in self.stacks:
            for name in stack.changed if not stack.is_done else ():
                latest = stack.latest.get(name)
                if latest is None or not latest.status.endswith("_COMPLETE"):
                    open_.add((stack.name, name))
                if latest is not None:
                    spent[stack.name, name] = max(
                        round((now - stack.started.get(name, latest.time)).total_seconds()), 0
                    )
        return time_of(self._assembly, open_, spent=spent).seconds

    @property
    def usd_so_far(self) -> float:
        """Cost in USD of the resources that this deployment has created so far, by list prices."""
        now = self._account.clock()
        return sum(
            self._usd_per_hour.get((stack.name, name), 0.0)
            * max((now - began).total_seconds(), 0.0)
            / _SECONDS_PER_HOUR
            for stack in self.stacks
            for name, began in stack.started.items()
        )

    def first_failure(self) -> StackEvent | None:
        """Return the event of the first resource that failed by itself, also within a nested stack."""
        first = min((event for event in self.events if event.is_failure), key=lambda event: event.time, default=None)
        while first and first.type == NESTED_STACK and first.physical_id:
            inside = new_events(self._cloudformation, first.physical_id)
            inner = next((event for event in inside if event.is_failure), None)
            if inner is None:
                break
            first = inner
        return first
