"""One update of the stack, from its beginning to its end, with what CloudFormation says on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from slipway.roll_out.errors import FailedError
from slipway.roll_out.service import SERVED, Service

POLL_SECONDS = 15.0
"""How often CloudFormation is asked."""

_QUIET_SECONDS = 120.0
_SERVED = frozenset({"UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"})
_TAKEN_BACK = frozenset({"UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS"})


@dataclass
class Update:
    """An update that serves another version.

    Attributes:
        service: the service.
        timeout_seconds: how long it is followed.
        tell: called with a line of progress.
    """

    service: Service
    timeout_seconds: float
    tell: Callable[[str], None]
    _told: set[str] = field(default_factory=set)
    _failures: list[str] = field(default_factory=list)

    def carry_out(self, prefix: str) -> None:
        """Serve a prefix, and wait until it is served.

        Raises:
            FailedError: CloudFormation took it back, could not even do that, or is not done within the time.
            botocore.exceptions.ClientError: AWS refuses.
        """
        self._told.update(event["EventId"] for event in self._events())
        self.service.serve(prefix)
        started = quiet_since = time.monotonic()
        while True:
            stack = self._stack()
            if self._tell_events():
                quiet_since = time.monotonic()
            status = stack["StackStatus"]
            if not status.endswith("_IN_PROGRESS") or status in _SERVED | _TAKEN_BACK:
                return self._judge(status, stack, prefix)
            now = time.monotonic()
            if now - started >= self.timeout_seconds:
                raise FailedError(
                    f"after {self.timeout_seconds / 60:.0f} minutes the update is still {status}. CloudFormation goes "
                    f"on: see what is served with `slipway roll-out`, or stop it with "
                    f"`aws cloudformation cancel-update-stack --stack-name {self.service.stack}`"
                )
            if now - quiet_since >= _QUIET_SECONDS:
                self.tell(f"{status} for {(now - started) / 60:.0f} minutes")
                quiet_since = now
            time.sleep(POLL_SECONDS)

    def _judge(self, status: str, stack: dict[str, Any], prefix: str) -> None:
        if status in _SERVED:
            return
        reasons = "\n".join(f"  {line}" for line in self._failures) or "  CloudFormation gave no reason"
        served = {item["ParameterKey"]: item["ParameterValue"] for item in stack["Parameters"]}[SERVED]
        if status in _TAKEN_BACK:
            raise FailedError(f"{prefix} was not taken, {served} is served again. Why:\n{reasons}")
        raise FailedError(
            f"{self.service.stack} is {status}: neither {prefix} nor the version before is surely served. Why:\n"
            f"{reasons}\nMend the cause, then: "
            f"aws cloudformation continue-update-rollback --stack-name {self.service.stack}"
        )

    def _stack(self) -> dict[str, Any]:
        found: dict[str, Any] = self.service.cloudformation.describe_stacks(StackName=self.service.id)["Stacks"][0]
        return found

    def _tell_events(self) -> bool:
        """Tell what happened since the last time, oldest first."""
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
        """Yield the stack's events that were not told yet, newest first."""
        paginator = self.service.cloudformation.get_paginator("describe_stack_events")
        for page in paginator.paginate(StackName=self.service.id):
            for event in page["StackEvents"]:
                if event["EventId"] in self._told:
                    return
                yield event
