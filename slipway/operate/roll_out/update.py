"""One update of the stack, from its beginning to its end, with what CloudFormation says on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from slipway.errors import FailedError
from slipway.operate.roll_out.service import InferenceStack, stack_values
from slipway.operate.roll_out.state import Step

POLL_SECONDS = 15.0
"""How often CloudFormation is asked."""

_QUIET_SECONDS = 120.0
_CLEANING_UP = "_COMPLETE_CLEANUP_IN_PROGRESS"
_DONE = frozenset({"UPDATE_COMPLETE", f"UPDATE{_CLEANING_UP}"})
_TAKEN_BACK = frozenset({"UPDATE_ROLLBACK_COMPLETE", f"UPDATE_ROLLBACK{_CLEANING_UP}"})


@dataclass
class Update:
    """An update that is one step of a roll-out.

    Attributes:
        stack: the stack.
        model: the model's name.
        timeout_seconds: how long it is followed.
        tell: called with a line of progress.
    """

    stack: InferenceStack
    model: str
    timeout_seconds: float
    tell: Callable[[str], None]
    _told: set[str] = field(default_factory=set)
    _failures: list[str] = field(default_factory=list)

    def carry_out(self, step: Step, tasks: int) -> None:
        """Take a step, and wait until it is done.

        Args:
            step: the step.
            tasks: how many tasks the model's service wants now.

        Raises:
            FailedError: CloudFormation took it back, could not even do that, or is not done within the time.
            botocore.exceptions.ClientError: AWS refuses.
        """
        self._told.update(event["EventId"] for event in self._events())
        # Until it has deleted what the update before replaced, CloudFormation begins no other one.
        self._follow(lambda status: not status.endswith(_CLEANING_UP))
        self.stack.begin(self.model, step, tasks)
        self._judge(self._follow(_is_decided), step)

    def _follow(self, is_over: Callable[[str], bool]) -> dict[str, Any]:
        """Return what happens until the stack's status says that it is over; return the stack."""
        started = quiet_since = time.monotonic()
        while True:
            stack = self._described()
            status: str = stack["StackStatus"]
            if self._tell_events():
                quiet_since = time.monotonic()
            if is_over(status):
                return stack
            now = time.monotonic()
            if now - started >= self.timeout_seconds:
                raise FailedError(
                    f"after {self.timeout_seconds / 60:.0f} minutes the update is still {status}. CloudFormation goes "
                    f"on: see what is served with `slipway roll-out`, or stop it with "
                    f"`aws cloudformation cancel-update-stack --stack-name {self.stack.name}`. When it is over, "
                    "--canary, --promote and --abort go on where they were"
                )
            if now - quiet_since >= _QUIET_SECONDS:
                self.tell(f"{status} for {(now - started) / 60:.0f} minutes")
                quiet_since = now
            time.sleep(POLL_SECONDS)

    def _judge(self, stack: dict[str, Any], step: Step) -> None:
        status = stack["StackStatus"]
        if status in _DONE:
            return
        reasons = "\n".join(f"  {line}" for line in self._failures) or "  CloudFormation gave no reason"
        state = self.stack.services[self.model].state(stack_values(stack))
        if status in _TAKEN_BACK:
            raise FailedError(f"CloudFormation took back: {step.doing}. Now {state}. Why:\n{reasons}")
        raise FailedError(
            f"{self.stack.name} is {status}: what is served is not sure, {state} is what it returns to. Why:\n"
            f"{reasons}\nMend the cause, then: "
            f"aws cloudformation continue-update-rollback --stack-name {self.stack.name}"
        )

    def _described(self) -> dict[str, Any]:
        found: dict[str, Any] = self.stack.cloudformation.describe_stacks(StackName=self.stack.id)["Stacks"][0]
        return found

    def _tell_events(self) -> bool:
        """Return what happened since the last time, oldest first."""
        news = list(self._events())
        for event in reversed(news):
            self._told.add(event["EventId"])
            status, reason = event["ResourceStatus"], event.get("ResourceStatusReason", "")
            line = f"{event['LogicalResourceId']} {status}" + (f": {reason}" if reason else "")
            self.tell(f"{event['Timestamp']:%H:%M:%S} {line}")
            if status.endswith("_FAILED") and "cancelled" not in reason:
                self._failures.append(line)
        return bool(news)

    def _events(self) -> Iterator[dict[str, Any]]:
        """Yield the stack's events that were not reported yet, newest first."""
        paginator = self.stack.cloudformation.get_paginator("describe_stack_events")
        for page in paginator.paginate(StackName=self.stack.id):
            for event in page["StackEvents"]:
                if event["EventId"] in self._told:
                    return
                yield event


def _is_decided(status: str) -> bool:
    return not status.endswith("_IN_PROGRESS") or status.endswith(_CLEANING_UP)
