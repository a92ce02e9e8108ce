"""IAM's decision on one request inside one account.

Source: IAM User Guide, "Policy evaluation logic" and "How AWS enforcement code logic evaluates requests", 2026-11.
Left out: what the emulator's account does not have, which is organisations' policies, session policies and other
accounts.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from slipway_emulator.permissions.conditions import UNKNOWN, Context, as_list, filled, hold, pattern

Statement = Mapping[str, Any]
_Naming = Literal["directly", "as a role", "by account"]


@dataclass(frozen=True)
class Principal:
    """Who asks.

    Attributes:
        arn: of the user or the role, or empty for a service.
        service: such as `lambda.amazonaws.com`, or empty.
    """

    arn: str = ""
    service: str = ""

    @property
    def account(self) -> str:
        """The account of a user or a role."""
        return self.arn.split(":")[4] if self.arn else ""


@dataclass(frozen=True)
class Policies:
    """What decides, each document as its JSON text.

    Attributes:
        identity: the principal's policies.
        boundary: its permissions boundary, or None.
        resource: the policy of what is asked for, or None.
    """

    identity: Sequence[str] = ()
    boundary: str | None = None
    resource: str | None = None


@dataclass(frozen=True)
class Request:
    """What is asked.

    Attributes:
        principal: who asks.
        action: such as `s3:GetObject`.
        resource: its ARN, or `*` for an action without one. None: nobody can tell; the action alone is looked at.
        context: the condition keys that AWS sends, in lower case.
    """

    principal: Principal
    action: str
    resource: str | None
    context: Context = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """Whether it is allowed, and what decides."""

    allowed: bool
    why: str


def decide(request: Request, policies: Policies) -> Verdict:
    """Decide a request."""
    boundaries = [policies.boundary] if policies.boundary is not None else []
    own, beside = [*policies.identity, *boundaries], [policies.resource] if policies.resource else []
    if any(_applying(own, "Deny", request)):
        return Verdict(False, "a policy of the principal denies it")
    if any(_namings(beside, "Deny", request)):
        return Verdict(False, "the policy of the resource denies it")
    by_identity = any(_applying(policies.identity, "Allow", request))
    namings = set(_namings(beside, "Allow", request))
    if _resource_decides(request) and not namings:
        return Verdict(False, "the policy of the resource does not allow it")
    if not by_identity and not namings & {"directly", "as a role"}:
        return Verdict(False, "no policy of the principal allows it")
    # What a resource grants a role by name is held by the role's boundary, what it grants everyone or a user is not
    # (IAM User Guide, "Permissions boundaries": "Resource-based policies").
    if boundaries and "directly" not in namings and not any(_applying(boundaries, "Allow", request)):
        return Verdict(False, "the permissions boundary does not allow it")
    return Verdict(True, "a policy of the principal" if by_identity else "the policy of the resource")


def _resource_decides(request: Request) -> bool:
    """Whether the resource's own policy must allow it, too: a role's trust policy, the policy of a key that exists.

    Source: IAM User Guide, "Identity-based policies and resource-based policies"; KMS Developer Guide, "Key policies".
    """
    if request.action.startswith("kms:"):
        return ":key/" in (request.resource or "") and "*" not in (request.resource or "")
    return request.action.startswith("sts:AssumeRole")


def statements(document: str) -> Sequence[Statement]:
    """Return the statements of a policy."""
    return _statements(document)


@lru_cache(maxsize=5_000)
def _statements(document: str) -> Sequence[Statement]:
    return tuple(as_list(json.loads(document)["Statement"]))


def _applying(documents: Sequence[str], effect: str, request: Request) -> Iterator[Statement]:
    for document in documents:
        for statement in _statements(document):
            if statement["Effect"] == effect and _applies(statement, request):
                yield statement


def _namings(documents: Sequence[str], effect: str, request: Request) -> Iterator[_Naming]:
    """Yield how the statements that apply name the principal."""
    for statement in _applying(documents, effect, request):
        if "NotPrincipal" in statement:
            if not any(_naming(statement["NotPrincipal"], request.principal)):
                yield "directly"
        else:
            yield from _naming(statement["Principal"], request.principal)


def _naming(element: Any, principal: Principal) -> Iterator[_Naming]:
    named = {"AWS": ["*"]} if element == "*" else {kind: as_list(names) for kind, names in element.items()}
    users = named.get("AWS", [])
    if principal.arn and principal.arn in users:
        yield "as a role" if ":role/" in principal.arn else "directly"
    if "*" in users:
        yield "directly"
    if principal.service and principal.service in named.get("Service", []):
        yield "directly"
    if principal.account and {principal.account, f"arn:aws:iam::{principal.account}:root"} & set(users):
        yield "by account"


def _applies(statement: Statement, request: Request) -> bool:
    if not _matches(statement, "Action", request.action, request.context, any_case=True):
        return False
    if request.resource is not None and not _matches(statement, "Resource", request.resource, request.context):
        return False
    return hold(statement.get("Condition", {}), request.context)


def _matches(statement: Statement, element: str, value: str, context: Context, *, any_case: bool = False) -> bool:
    """Whether an element, or its `Not` form, reaches a value. A trust policy has no resource: it reaches its role."""
    negated = f"Not{element}" in statement
    texts = statement.get(f"Not{element}" if negated else element)
    if texts is None:
        return True
    # What a variable without a value leaves out nobody can tell: it may be everything.
    reached = [filled(text, context).replace(UNKNOWN, "*" if negated else UNKNOWN) for text in as_list(texts)]
    return any(pattern(text, any_case=any_case).fullmatch(value) for text in reached) != negated
