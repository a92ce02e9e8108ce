"""The statements of all policies of an assembly.

Read from wherever a template has a policy document: AWS's differ reads fewer (a managed policy that no role in the
template has, for example, is none to it), and does not say in which resource one is.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from slipway.review.changes.permissions.alternatives import NOTHING, Conditions, alternatives, rows
from slipway.review.changes.resources import Resource

ATTACHED = frozenset({"attached"})
"""In the place of actions: the principals have a policy that is elsewhere, and that `resources` names."""

_IDENTITY_LISTS = ("Roles", "Users", "Groups")
NOT = "not:"
"""Before the actions of a `NotAction` and the like."""

SEPARATOR = ", "
"""Between them."""

_ENDPOINT = "AWS::EC2::VPCEndpoint"
# What counts for an endpoint without a policy: https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-access.html
_EVERYTHING = {"Statement": {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}}
# The number of an account as a principal is all identities of the account.
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html
_ACCOUNT = re.compile(r"\d{12}|\$\{AWS::AccountId\}")
# The partition of every Region that the project has facts of.
_PARTITION = ("arn:${AWS::Partition}:", "arn:aws:")
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
        condition: operator, key and values, each as one text; those of the template too, where it depends on one.
        through: the VPC endpoint that has the policy. It limits what goes through it and gives nobody anything: so it
            is compared with policies of the same endpoint alone.
    """

    owner: str
    effect: str
    principals: frozenset[str]
    actions: frozenset[str]
    resources: frozenset[str]
    condition: Conditions
    through: str = ""


def read_statements(resources: Mapping[str, Resource]) -> Iterator[Statement]:
    """Yield the statements of every policy, permission and attachment."""
    for key, resource in resources.items():
        properties = resource.settled.get("Properties", {})
        if resource.type == "AWS::Lambda::Permission":
            yield _of_permission(key, properties)
        subject = _subject(key, resource.type, properties)
        is_endpoint = resource.type == _ENDPOINT
        documents = list(_documents(properties))
        for document, is_trust in documents or ([(_EVERYTHING, False)] if is_endpoint else []):
            for row, condition in _conditional(document["Statement"], resource.settled.get("Condition")):
                statement = _of_row(key, row, subject, condition, is_trust=is_trust)
                yield replace(statement, through=key) if is_endpoint else statement
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
    if resource_type == _ENDPOINT:
        return _Subject(own, frozenset({"*"}))
    targets = [item for name in _RESOURCE_KEYS for item in _list(properties.get(name, []))]
    return _Subject(own, frozenset(_texts(targets)) or frozenset({f"${{{key}}}"}))


def _documents(value: Any, *, is_trust: bool = False) -> Iterator[tuple[Mapping[str, Any], bool]]:
    if isinstance(value, list):
        for item in value:
            yield from _documents(item, is_trust=is_trust)
    elif isinstance(value, dict):
        if _is_policy(value):
            yield value, is_trust
            return
        for name, item in value.items():
            yield from _documents(item, is_trust=is_trust or name == "AssumeRolePolicyDocument")
    elif isinstance(value, str) and value.startswith("{") and '"Statement"' in value:
        # The policies of CloudWatch Logs are text.
        yield from _documents(_parsed(value))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _is_policy(value: Mapping[str, Any]) -> bool:
    # A rule of a web ACL has a statement too, of another kind.
    return "Statement" in value and all(
        isinstance(row, dict) and "Effect" in row for row, _ in rows(value["Statement"])
    )


def _conditional(statement: Any, of_resource: str | None) -> Iterator[tuple[Mapping[str, Any], Conditions]]:
    there = {("is", of_resource): frozenset({"true"})} if of_resource else {}
    for row, chosen in rows(statement):
        for condition, both in alternatives(row.get("Condition"), chosen):
            yield row, {**there, **both, **_condition(condition or {})}


def _of_row(key: str, row: Mapping[str, Any], subject: _Subject, condition: Conditions, *, is_trust: bool) -> Statement:
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
        condition=condition,
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
            for item in _texts(_list(items)):
                yield "*" if item == "*" else f"{kind} {_principal(item)}"
    else:
        yield from _texts(_list(value))


def _principal(item: str) -> str:
    return f"arn:aws:iam::{item}:root" if _ACCOUNT.fullmatch(item) else item


def _condition(condition: Mapping[str, Any]) -> Conditions:
    return {
        (operator, name): frozenset(_texts(_list(values)))
        for operator, row in condition.items()
        # The CDK's CfnJson has the keys made at the deployment, for roles of service accounts for example.
        for name, values in (row if isinstance(row, dict) else {row: row}).items()
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _texts(values: list[Any]) -> Iterator[str]:
    for value in values:
        if value == NOTHING:
            continue
        yield (value if isinstance(value, str) else json.dumps(value, sort_keys=True)).replace(*_PARTITION)
