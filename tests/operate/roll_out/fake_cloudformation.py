"""CloudFormation and ECS for one inference stack, with what matters of their ways: time passes when one asks."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from tests.operate.roll_out.template import NONE

BROKEN = "tanuki-8b/broken"
"""A version whose tasks never become healthy."""

_STOPPED = None


class TasksNeverHealthyError(Exception):
    """The deployment's circuit breaker opened."""


@dataclass
class FakeCloudFormation:
    """A deployed stack: template and parameters, and what its resources are at the moment.

    Resources change one after the other in any order: CloudFormation updates side by side what does not hang together.

    Attributes:
        template: the stack's template.
        chance: decides the order.
        kill_after: raise `KeyboardInterrupt` at so many calls from now, as if the user stopped the command.
        faults: requests that went, or would have gone, to a service without its task.
    """

    template: dict[str, Any]
    chance: random.Random
    status: str = "UPDATE_COMPLETE"
    values: dict[str, str] = field(default_factory=dict)
    served: str | None = _STOPPED
    candidate: str | None = _STOPPED
    weight: int = 0
    kill_after: int | None = None
    faults: list[str] = field(default_factory=list)
    _update: Iterator[None] = field(default_factory=lambda: iter(()))

    def __post_init__(self) -> None:
        self.values = {name: str(item["Default"]) for name, item in self.template["Parameters"].items()}

    def settle(self) -> None:
        """Let a running update come to its end."""
        for _ in self._update:
            pass

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803
        self._count_down()
        next(self._update, None)
        return {
            "Stacks": [
                {
                    "StackId": f"arn:aws:cloudformation:us-west-2:111122223333:stack/{StackName}/1",
                    "StackStatus": self.status,
                    "Parameters": [
                        {"ParameterKey": key, "ParameterValue": value} for key, value in self.values.items()
                    ],
                    "Outputs": [{"OutputKey": "ModelBucket", "OutputValue": "models"}],
                }
            ]
        }

    def get_template(self, **_: str) -> dict[str, Any]:
        return {"TemplateBody": self.template}

    def get_paginator(self, _operation: str) -> "FakeCloudFormation":
        return self

    def paginate(self, **_: str) -> Iterator[dict[str, Any]]:
        yield {"StackEvents": []}

    def describe_services(self, cluster: str, services: list[str], include: Sequence[str] = ()) -> dict[str, Any]:
        """ECS's own."""
        [name] = services
        running = self.candidate if name.endswith("-candidate") else self.served
        return {"services": [{"runningCount": int(running is not _STOPPED), "desiredCount": 1}]}

    def update_stack(self, StackName: str, Parameters: list[dict[str, Any]], **_: Any) -> None:  # noqa: N803
        if not self.status.endswith("_COMPLETE"):
            raise _invalid(f"Stack:{StackName} is in {self.status} state and can not be updated.")
        if {item["ParameterKey"] for item in Parameters} != set(self.values):
            raise _invalid("Parameters do not exist in the template, or must have values")
        new = {
            item["ParameterKey"]: item.get("ParameterValue", self.values[item["ParameterKey"]]) for item in Parameters
        }
        self._validate(new)
        if new == self.values:
            raise _invalid("No updates are to be performed.")
        self._update = self._updating(new)
        next(self._update)
        self._count_down()

    def _validate(self, new: dict[str, str]) -> None:
        for name, item in self.template["Parameters"].items():
            if not re.fullmatch(item.get("AllowedPattern", ".*"), new[name]):
                raise _invalid(f"Parameter {name} failed to satisfy constraint")
            if item["Type"] == "Number" and not item["MinValue"] <= int(new[name]) <= item["MaxValue"]:
                raise _invalid(f"Parameter {name} failed to satisfy constraint")
        for rule in self.template["Rules"].values():
            if _holds(rule["RuleCondition"], new):
                for assertion in rule["Assertions"]:
                    if not _holds(assertion["Assert"], new):
                        raise _invalid(f"Template constraint failed: {assertion['AssertDescription']}")

    def _updating(self, new: dict[str, str]) -> Iterator[None]:
        old, self.values, self.status = self.values, new, "UPDATE_IN_PROGRESS"
        yield
        try:
            yield from self._change(old, new)
        except TasksNeverHealthyError:
            self.values, self.status = old, "UPDATE_ROLLBACK_IN_PROGRESS"
            yield
            yield from self._change(new, old)
            self.status = "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS"
            yield
            self.status = "UPDATE_ROLLBACK_COMPLETE"
            return
        self.status = "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"
        yield
        self.status = "UPDATE_COMPLETE"

    def _change(self, old: dict[str, str], new: dict[str, str]) -> Iterator[None]:
        changes: dict[str, Callable[[str], Iterator[None]]] = {
            "Tanuki8bServed": self._replace_served,
            "Tanuki8bCandidate": self._replace_candidate,
            "Tanuki8bCandidateWeight": self._weigh,
        }
        names = [name for name in changes if old[name] != new[name]]
        self.chance.shuffle(names)
        for name in names:
            yield from changes[name](new[name])

    def _replace_served(self, version: str) -> Iterator[None]:
        """A new task is healthy before the old one stops."""
        yield
        if version == BROKEN:
            raise TasksNeverHealthyError
        self.served = _running(version)

    def _replace_candidate(self, version: str) -> Iterator[None]:
        """The old task stops before the new one starts."""
        if self.candidate is not _STOPPED and self.weight:
            self.faults.append(f"the candidate {self.candidate} stopped with {self.weight} % of the requests")
        self.candidate = _STOPPED
        yield
        if version == BROKEN:
            raise TasksNeverHealthyError
        self.candidate = _running(version)

    def _weigh(self, weight: str) -> Iterator[None]:
        if int(weight) > self.weight and self.candidate is _STOPPED:
            self.faults.append(f"{weight} % of the requests went to a candidate without task")
        self.weight = int(weight)
        yield

    def _count_down(self) -> None:
        if self.kill_after is not None:
            self.kill_after -= 1
            if self.kill_after < 0:
                self.kill_after = None
                raise KeyboardInterrupt


def _running(version: str) -> str | None:
    return _STOPPED if version == NONE else version


def _invalid(message: str) -> ClientError:
    return ClientError({"Error": {"Code": "ValidationError", "Message": message}}, "UpdateStack")


def _holds(expression: Any, values: dict[str, str]) -> bool:
    """Evaluate a rule: `Fn::Not` and `Fn::Equals` of parameters and text."""
    with suppress(KeyError):
        return not _holds(expression["Fn::Not"][0], values)
    left, right = (values[side["Ref"]] if isinstance(side, dict) else side for side in expression["Fn::Equals"])
    return bool(left == right)
