"""Asks a policy simulator that is not ours whether IAM allows a request.

It is `@cloud-copilot/iam-simulate`, which evaluates identity and resource policies, permissions boundaries and all
condition operators, and knows which condition keys AWS sends with an action.
"""

import atexit
import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from tests.assembly import PROJECT

ACCOUNT = "111122223333"

Decision = Literal["Allowed", "ExplicitlyDenied", "ImplicitlyDenied"]
Document = Mapping[str, Any]

_PROGRAM = PROJECT / "tests" / "iam" / "simulate.mjs"


class SimulationError(Exception):
    """The simulator refuses a request or a policy: it is not one that AWS would take."""


@dataclass(frozen=True)
class Request:
    """One request to AWS.

    Attributes:
        principal: ARN of a role or of a role's session.
        action: for example `s3:GetObject`.
        resource: ARN, or `*` for an action that takes none.
        context: condition keys that AWS must send with the action.
        if_sent: condition keys that count only where AWS sends them with the action.
        policies: identity policies of the principal.
        boundaries: its permissions boundaries.
        resource_policy: the resource's own policy; a trust policy for `sts:AssumeRole`.
        account: the resource's account.
        endpoints: policies of the VPC endpoint that the request goes through.
    """

    principal: str
    action: str
    resource: str
    policies: Sequence[Document]
    context: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    boundaries: Sequence[Document] = ()
    resource_policy: Document | None = None
    account: str = ACCOUNT
    endpoints: Sequence[Document] = ()
    if_sent: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


def decide(requests: Sequence[Request]) -> list[Decision]:
    """Return the simulator's decision on each request; one process answers all questions of a session.

    Raises:
        SimulationError: a policy, an action or an ARN is invalid, or AWS does not send one of the condition keys.
    """
    documents: dict[str, Document] = {}
    simulations = [_simulation(request, documents) for request in requests]
    answers = json.loads(_answer(json.dumps({"documents": documents, "simulations": simulations})))
    for request, answer in zip(requests, answers, strict=True):
        if "error" in answer:
            raise SimulationError(f"{request.action} on {request.resource}: {answer['error']}")
        if unsent := [key for key in answer["ignored"] if key not in request.if_sent]:
            raise SimulationError(f"AWS does not send {unsent} with {request.action} on {request.resource}")
    return [answer["decision"] for answer in answers]


@cache
def _started() -> subprocess.Popen[str]:
    """Node.js takes half a second to start and to read the simulator. Its error output is the tests'."""
    process = subprocess.Popen(["node", str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # It ends at the end of its input.
    atexit.register(process.communicate)
    return process


def _answer(question: str) -> str:
    process = _started()
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{question}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        _started.cache_clear()
        raise RuntimeError("the simulator ended without an answer; its error output says why")
    return answer


def _simulation(request: Request, documents: dict[str, Document]) -> dict[str, Any]:
    return {
        "principal": request.principal,
        "action": request.action,
        "resource": request.resource,
        "account": request.account,
        "context": {**request.if_sent, **request.context},
        "policies": [_key(document, documents) for document in request.policies],
        "boundaries": [_key(document, documents) for document in request.boundaries],
        "endpoints": [_key(document, documents) for document in request.endpoints],
        "resourcePolicy": _key(request.resource_policy, documents) if request.resource_policy else None,
    }


def _key(document: Document, documents: dict[str, Document]) -> str:
    """Each document is sent once, whatever the number of requests."""
    key = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    documents[key] = document
    return key
