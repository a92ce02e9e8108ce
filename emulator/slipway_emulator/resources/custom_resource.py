"""Custom resources: the stack's own Lambda function does the work."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from slipway_emulator.failures import ProvisioningError, UnfinishedCreationError
from slipway_emulator.functions.processes import Finished
from slipway_emulator.functions.responses import ResponseServer
from slipway_emulator.functions.runner import FunctionRunner
from slipway_emulator.ledger import Backing
from slipway_emulator.permissions.guard import Guard
from slipway_emulator.resources.handler import Existing, Provisioned, Request

_LONGEST_REASON = 900
_OUTPUT_SHOWN = 500


class CustomResourceHandler:
    """Sends Create, Update and Delete requests to the function named by ServiceToken."""

    backing: Backing = "lambda"

    def __init__(self, runner: FunctionRunner, responses: ResponseServer, guard: Guard) -> None:
        self._guard = guard
        self._runner = runner
        self._responses = responses

    def create(self, request: Request) -> Provisioned:
        """Send a Create request.

        CloudFormation sends a Delete request for a failed creation too, with an id of its own making when the
        function gave none; hence every failure is an unfinished creation.
        """
        try:
            answer = self._send("Create", request)
        except _RefusedError as refusal:
            physical_id = refusal.physical_id or _unanswered_id(request)
            raise UnfinishedCreationError(str(refusal), physical_id) from refusal
        return Provisioned(answer.get("PhysicalResourceId") or str(uuid4()), _data(answer))

    def can_update(self, changed: frozenset[str]) -> bool:
        """Always: the function decides, and answers another id to be replaced."""
        return True

    def update(self, request: Request, existing: Existing, changed: frozenset[str]) -> Provisioned:
        """Send an Update request."""
        answer = self._send(
            "Update",
            request,
            PhysicalResourceId=existing.physical_id,
            OldResourceProperties=_as_text(existing.properties),
        )
        return Provisioned(answer.get("PhysicalResourceId") or existing.physical_id, _data(answer))

    def delete(self, request: Request, existing: Existing) -> None:
        """Send a Delete request."""
        self._send("Delete", request, PhysicalResourceId=existing.physical_id)

    def _send(self, request_type: str, request: Request, **more: Any) -> dict[str, Any]:
        token = str(request.properties.get("ServiceToken", ""))
        function = self._runner.find(token)
        if function is None:
            raise _RefusedError(f"ServiceToken {token or '(missing)'} is not a Lambda function of this rehearsal")
        self._guard.require("lambda:Invoke", request.stack.region, FunctionName=token)
        with self._responses.expecting() as expected:
            event = {
                "RequestType": request_type,
                "ServiceToken": token,
                "ResponseURL": expected.url,
                "StackId": request.stack.id,
                "RequestId": str(uuid4()),
                "LogicalResourceId": request.logical_id,
                "ResourceType": request.resource_type,
                "ResourceProperties": _as_text(request.properties),
                **more,
            }
            finished = self._runner.invoke(function, json.dumps(event))
            answer = expected.content
        if answer is None:
            raise _RefusedError(_why_silent(function.name, finished))
        if answer.get("Status") != "SUCCESS":
            reason = str(answer.get("Reason", ""))[:_LONGEST_REASON]
            raise _RefusedError(
                "Received response status [FAILED] from custom resource. Message returned: " + reason,
                answer.get("PhysicalResourceId") or "",
            )
        return answer


class _RefusedError(ProvisioningError):
    """The function failed or said no."""

    def __init__(self, reason: str, physical_id: str = "") -> None:
        super().__init__(reason)
        self.physical_id = physical_id


def _why_silent(name: str, finished: Finished) -> str:
    """AWS would wait for an hour at this point; the emulator sees the process end and says so."""
    if finished.timed_out:
        return f"Function {name} was ended after its timeout and had not answered"
    shown = finished.output.strip()[-_OUTPUT_SHOWN:]
    return f"Function {name} ended (exit code {finished.exit_code}) without answering CloudFormation: {shown}"


def _unanswered_id(request: Request) -> str:
    return f"{request.stack.name}-{request.logical_id}-{uuid4().hex[:8]}"


def _data(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _as_text(value) for name, value in (answer.get("Data") or {}).items()}


def _as_text(value: Any) -> Any:
    """CloudFormation turns every scalar of a custom resource into text, in both directions."""
    if isinstance(value, Mapping):
        return {key: _as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
