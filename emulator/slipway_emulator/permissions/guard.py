"""Stands before the emulated services: every signed call is put down to somebody and decided.

A call that is refused gets AWS's answer, and all decisions are written down (`permissions.jsonl`): one line for each
policy document, by number, and one for each check, so that a run can be decided again without an emulator.
"""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from slipway_emulator.failures import ProvisioningError
from slipway_emulator.permissions import account
from slipway_emulator.permissions.acting import ADMINISTRATOR, HEADER, TAGS_HEADER, acting_for, current
from slipway_emulator.permissions.calls import Call, Environ, UnknownCallError, read_call
from slipway_emulator.permissions.evaluation import Policies, Principal, Request, Verdict, decide
from slipway_emulator.permissions.needs import Need, UnknownActionError, needs
from slipway_emulator.permissions.refusal import refuse
from slipway_emulator.settings import ACCOUNT

StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

_VARIABLE, _TAGS_VARIABLE = (f"HTTP_{name.upper().replace('-', '_')}" for name in (HEADER, TAGS_HEADER))


class Guard:
    """Decides calls and writes the decisions down."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._documents: dict[str, int] = {}
        file.write_text("", encoding="utf-8")

    # ---- requests ------------------------------------------------------------------------------------------

    def before(self, application: Application) -> Application:
        """Return the application behind this guard."""

        def guarded(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
            try:
                call = read_call(environ)
            except UnknownCallError as error:
                self._problem(str(error))
                return application(environ, start_response)
            if call is None:
                return application(environ, start_response)
            caller = environ.get(_VARIABLE) or account.owner_of(call.access_key)
            call = replace(call, stack_tags=json.loads(environ.get(_TAGS_VARIABLE, "{}")))
            if refusal := self.refusal(caller, call):
                return refuse(call, refusal, start_response)
            with acting_for(caller):
                return application(environ, start_response)

        return guarded

    def refusal(self, caller: str, call: Call) -> str | None:
        """Check a call; return AWS's message if it is refused.

        Args:
            caller: ARN of a user or role, or `ADMINISTRATOR`.
            call: what it calls.
        """
        role = call.parameters.get("RoleArn", "") if (call.service, call.operation) == ("sts", "AssumeRole") else ""
        if role and not account.role_exists(role):
            # AWS says the same of a role that is not there, to an administrator, too (IAM User Guide, "Troubleshoot
            # IAM roles", 2026-11); moto lets everybody take it on.
            return f"User: {caller} is not authorized to perform: sts:AssumeRole on resource: {role}"
        if caller == ADMINISTRATOR:
            return None
        try:
            wanted = list(needs(call))
        except UnknownActionError as error:
            self._problem(str(error))
            return None
        refused = [message for need in wanted if (message := self._check(caller, call, need))]
        return refused[0] if refused else None

    def require(self, operation: str, region: str, **parameters: Any) -> None:
        """Check what a service does for whoever this thread acts for, without a request.

        Args:
            operation: such as `lambda:Invoke`.
            region: where.
            parameters: of the operation.

        Raises:
            ProvisioningError: it is refused.
        """
        service, _, name = operation.partition(":")
        if refusal := self.refusal(current(), Call("", region, service, name, parameters)):
            raise ProvisioningError(refusal)

    def require_trust(self, role_arn: str, service: str) -> None:
        """Check that a role lets a service take it on.

        Raises:
            ProvisioningError: it does not.
        """
        policies = Policies(resource=account.policy_of_resource("sts:AssumeRole", role_arn))
        request = Request(Principal(service=service), "sts:AssumeRole", role_arn)
        verdict = decide(request, policies)
        self._write_check(service, "sts:AssumeRole", request, policies, verdict)
        if not verdict.allowed:
            raise ProvisioningError(f"The role {role_arn} cannot be assumed by {service}: {verdict.why}")

    # ---- decisions -----------------------------------------------------------------------------------------

    def _check(self, caller: str, call: Call, need: Need) -> str | None:
        resource = account.real_arn(need.resource)
        policies = Policies()
        with suppress(account.GoneError):
            policies = account.policies_of(caller)
        own = account.policy_of_resource(need.action, resource)
        policies = Policies(policies.identity, policies.boundary, own)
        context = {
            **need.keys,
            "aws:principalarn": [caller],
            "aws:principalaccount": [ACCOUNT],
            "aws:resourceaccount": [ACCOUNT],
            **({"kms:calleraccount": [ACCOUNT]} if need.action.startswith("kms:") else {}),
        }
        request = Request(Principal(caller), need.action, resource, context)
        verdict = decide(request, policies)
        self._write_check(caller, f"{call.service}:{call.operation}", request, policies, verdict)
        if verdict.allowed:
            return None
        on = f" on resource: {resource}" if resource else ""
        return f"{caller} is not authorized to perform: {need.action}{on} because {verdict.why}"

    def _write_check(self, caller: str, operation: str, request: Request, policies: Policies, verdict: Verdict) -> None:
        with self._lock:
            self._write(
                {
                    "kind": "check",
                    "principal": caller,
                    "operation": operation,
                    "action": request.action,
                    "resource": request.resource,
                    "context": request.context,
                    "identity": [self._number(text) for text in policies.identity],
                    "boundary": self._number(policies.boundary),
                    "resource_policy": self._number(policies.resource),
                    "allowed": verdict.allowed,
                    "why": verdict.why,
                }
            )

    def _problem(self, message: str) -> None:
        with self._lock:
            self._write({"kind": "unknown", "message": message})

    def _number(self, document: str | None) -> int | None:
        if document is None:
            return None
        if document not in self._documents:
            self._documents[document] = len(self._documents)
            self._write({"kind": "document", "number": self._documents[document], "text": json.loads(document)})
        return self._documents[document]

    def _write(self, line: Mapping[str, Any]) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
