"""The deadline: a state machine in the account that deletes the environment when nobody else does."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from botocore.exceptions import WaiterError

from slipway.assembly.stacks import STACK, read_artifacts
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED, explained
from slipway.aws.stacks import find_stack, outputs
from slipway.errors import FailedError, RefusedError

TEMPLATE = Path(__file__).with_suffix(".yaml")
_OFTEN = {"Delay": 5, "MaxAttempts": 120}
TAG = "slipway:deadline-of"
"""Tag of the stack; its value is the environment's name."""


def stack_name(environment: str) -> str:
    """Return the name of the deadline's stack."""
    return f"slipway-{environment}-deadline"


def deletion_order(assembly: Path) -> tuple[str, ...]:
    """Return the names of an assembly's stacks, each before those that it depends on."""
    artifacts = read_artifacts(assembly, STACK)
    names = {key: value["properties"].get("stackName", key) for key, value in artifacts.items()}
    needs = {key: [one for one in value.get("dependencies", ()) if one in names] for key, value in artifacts.items()}
    return tuple(names[key] for key in TopologicalSorter(needs).static_order())[::-1]


@dataclass(frozen=True)
class Deadline:
    """A deadline that may be armed.

    Attributes:
        account: where it is.
        environment: name of the environment.
        stacks: names of its stacks in the order of their deletion.
    """

    account: Account
    environment: str
    stacks: Sequence[str]

    @property
    def _cloudformation(self) -> Any:
        return self.account.client("cloudformation")

    def arm(self, at: datetime) -> None:
        """Make the state machine, and let it wait.

        Args:
            at: when it begins to delete, with its zone.

        Raises:
            RefusedError: there is one already.
            FailedError: it cannot be made; nothing else was changed.
        """
        name = stack_name(self.environment)
        try:
            if self._running():
                raise RefusedError(
                    f"another proof of {self.environment} runs, or its deadline is still to come: the state machine of "
                    f"the stack {name} waits or deletes. Nothing was changed"
                )
            self._remove()
            self._cloudformation.create_stack(
                StackName=name,
                TemplateBody=TEMPLATE.read_text(encoding="utf-8"),
                Parameters=[{"ParameterKey": "Environment", "ParameterValue": self.environment}],
                Capabilities=["CAPABILITY_IAM"],
                Tags=[{"Key": TAG, "Value": self.environment}],
                OnFailure="DELETE",
            )
            self._cloudformation.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig=_OFTEN)
            made = find_stack(self._cloudformation, name) or {}
            self.account.client("stepfunctions").start_execution(
                stateMachineArn=outputs(made)["Machine"], input=json.dumps(self._question(at))
            )
        except (*UNANSWERED, WaiterError) as error:
            raise FailedError(f"the deadline cannot be set, so nothing is deployed: {explained(error)}") from error

    def _question(self, at: datetime) -> Mapping[str, Any]:
        return {"deadline": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "stacks": [{"name": name} for name in self.stacks]}

    def disarm(self) -> None:
        """Stop waiting, and delete the state machine.

        Raises:
            FailedError: it cannot be deleted; it deletes itself at the deadline.
        """
        try:
            for execution in self._running():
                self.account.client("stepfunctions").stop_execution(
                    executionArn=execution["executionArn"], cause="the environment is gone"
                )
            self._remove()
        except (*UNANSWERED, WaiterError) as error:
            raise FailedError(f"the stack {stack_name(self.environment)} cannot be deleted: {error}") from error

    def _running(self) -> Sequence[Mapping[str, Any]]:
        """Return the executions that wait, or delete."""
        machine = outputs(find_stack(self._cloudformation, stack_name(self.environment)) or {}).get("Machine")
        if machine is None:
            return ()
        states = self.account.client("stepfunctions")
        found: Sequence[Mapping[str, Any]] = states.list_executions(stateMachineArn=machine, statusFilter="RUNNING")[
            "executions"
        ]
        return found

    def _remove(self) -> None:
        name = stack_name(self.environment)
        if find_stack(self._cloudformation, name):
            self._cloudformation.delete_stack(StackName=name)
            self._cloudformation.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig=_OFTEN)
