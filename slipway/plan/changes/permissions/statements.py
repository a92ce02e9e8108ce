"""The statements of all policies of an assembly.

Read from wherever a template has a policy document: AWS's differ reads fewer (a managed policy that no role in the
template has, for example, is none to it), and does not say in which resource one is.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from slipway.plan.changes.resources import Resource

ATTACHED = frozenset({"attached"})
"""In the place of actions: the principals have a policy that is elsewhere, and that `resources` names."""

_IDENTITY_LISTS = ("Roles", "Users", "Groups")
NOT = "not:"
"""Before the actions of a `NotAction` and the like."""

SEPARATOR = ", "
"""Between them."""

_ENDPOINT = "AWS::EC2::VPCEndpoint"
_RESOURCE_KEYS = ("Bucket", "Topics", "Queues", "SecretId")


@dataclass(frozen=True)
class Statement:
    """One statement, spread over all that it applies to.

    Attributes:
        owner: the resource whose template holds it, `stack/logical id`.
        effect: `Allow` or `Deny`.
        principals: who; the roles of an identity policy, or the policy itself when the template gives it to nobody.
        actions: what; `NOT` before those of a `NotAction`.
        resources: on what; the resource that the policy belongs to when it says nothing.
        condition: operator, key and values, each as one text.
        through: the VPC endpoint that has the policy. It limits what goes through it and gives nobody anything: so it
            is compared with policies of the same endpoint alone.
    """

    owner: str
    effect: str
    principals: frozenset[str]
    actions: frozenset[str]
    resources: frozenset[str]
    condition: Mapping[tuple[str, str], frozenset[str]]
    through: str = ""


def read_statements(resources: Mapping[str, Resource]) -> Iterator[Statement]:
    """Yield the statements of every policy, permission and attachment."""
    for key, resource in resources.items():
        properties = resource.settled.get("Properties", {})
        if resource.type == "AWS::Lambda::Permission":
            yield _of_permission(key, properties)
        subject = _subject(key, resource.type, properties)
        for document, is_trust in _documents(properties):
            for row in _list(document["Statement"]):
                statement = _of_row(key, row, subject, is_trust=is_trust)
                yield replace(statement, through=key) if resource.type == _ENDPOINT else statement
        yield from _attachments(key, properties)


@dataclass(frozen=True)
class _Subject:
    principals: frozenset[str]
    resources: frozenset[str]


def _subject(key: str, resource_type: str, properties: Mapping[str, Any]) -> _Subject:
    own = frozenset({f"${{{key}}}"})
    attached = [item for name in _IDENTITY_LISTS for item in _list(properties.get(name, []))]
    if resource_type == "AWS::IAM::Policy" or (resource_type == "AWS::IAM::ManagedPolicy" and attached):
        own = frozenset(_texts(attached))
    targets = [item for name in _RESOURCE_KEYS for item in _list(properties.get(name, []))]
    return _Subject(own, frozenset(_texts(targets)) or frozenset({f"${{{key}}}"}))


def _documents(value: Any, *, is_trust: bool = False) -> Iterator[tuple[Mapping[str, Any], bool]]:
    if isinstance(value, list):
        for item in value:
            yield from _documents(item)
    elif isinstance(value, dict):
        if _is_policy(value):
            yield value, is_trust
            return
        for name, item in value.items():
            yield from _documents(item, is_trust=name == "AssumeRolePolicyDocument")


def _is_policy(value: Mapping[str, Any]) -> bool:
    # A rule of a web ACL has a statement too, of another kind.
    rows = _list(value.get("Statement", []))
    return "Statement" in value and all(isinstance(row, dict) and "Effect" in row for row in rows)


def _of_row(key: str, row: Mapping[str, Any], subject: _Subject, *, is_trust: bool) -> Statement:
    principals, resources = _targets(row, "Principal"), _targets(row, "Resource")
    if is_trust:
        resources = frozenset({f"${{{key}}}"})
    elif not resources or (principals and resources == {"*"}):
        # In the policy of a key, for example, `*` is that key.
        # https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-overview.html
        resources = subject.resources
    return Statement(
        owner=key,
        effect=row["Effect"],
        principals=principals or subject.principals,
        actions=_targets(row, "Action"),
        resources=resources,
        condition=_condition(row.get("Condition", {})),
    )


def _of_permission(key: str, properties: Mapping[str, Any]) -> Statement:
    # The condition that Lambda writes for these: https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html
    condition = {
        ("is", name): frozenset(_texts([properties[name]]))
        for name in ("SourceArn", "SourceAccount", "EventSourceToken", "FunctionUrlAuthType", "PrincipalOrgID")
        if name in properties
    }
    return Statement(
        owner=key,
        effect="Allow",
        principals=frozenset(_texts([properties["Principal"]])),
        actions=frozenset(_texts([properties["Action"]])),
        resources=frozenset(_texts([properties["FunctionName"]])),
        condition=condition,
    )


def _attachments(key: str, properties: Mapping[str, Any]) -> Iterator[Statement]:
    for policy in _texts(_list(properties.get("ManagedPolicyArns", []))):
        yield Statement(key, "Allow", frozenset({f"${{{key}}}"}), ATTACHED, frozenset({policy}), {})


def _targets(row: Mapping[str, Any], name: str) -> frozenset[str]:
    if f"Not{name}" in row:
        return frozenset({NOT + SEPARATOR.join(sorted(_spread(row[f"Not{name}"])))})
    return frozenset(_spread(row.get(name, [])))


def _spread(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and not any(name.startswith("Fn::") for name in value):
        for kind, items in value.items():
            yield from ("*" if item == "*" else f"{kind} {item}" for item in _texts(_list(items)))
    else:
        yield from _texts(_list(value))


def _condition(condition: Mapping[str, Any]) -> Mapping[tuple[str, str], frozenset[str]]:
    return {
        (operator, name): frozenset(_texts(_list(values)))
        for operator, row in condition.items()
        for name, values in row.items()
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _texts(values: list[Any]) -> Iterator[str]:
    for value in values:
        yield value if isinstance(value, str) else json.dumps(value, sort_keys=True)
