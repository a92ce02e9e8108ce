"""IAM's own answer to "may this principal do that?", without doing it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from slipway.aws.account import Account

_ACTIONS_AT_ONCE = 100
"""How many actions one simulation is asked about, so that its answer stays a few pages."""

_ANYTHING = "slipway-preflight"
"""Stands for what a pattern of a resource leaves open; the simulation asks about one resource, not about a pattern."""


_NOT_TOGETHER = "require different authorization information"
"""What IAM says, with the actions in groups (`[..] and [..]`), when one simulation cannot answer for all of them: for
example `iam:PassRole` beside other actions of IAM. Its documentation does not say which these are."""

_ORGANIZATION = ("the organization's policies",)
"""IAM does not evaluate service control policies that have conditions, and then says that the organization forbids what
it allows (IAM User Guide, "IAM policy testing"; aws/sagemaker-python-sdk issue 6019)."""

_GROUP = re.compile(r"\[([^\]]*)\]")


@dataclass(frozen=True)
class Denial:
    """Something that IAM would not allow.

    Attributes:
        action: the IAM action.
        resource: the ARN, or `*`.
        missing: what decides it and the simulation does not know: condition keys of the principal's policies, for
            example `aws:MultiFactorAuthPresent`, or the organization's policies. A real call may be allowed.
    """

    action: str
    resource: str
    missing: tuple[str, ...]


def denied(
    account: Account,
    who: str,
    actions: Sequence[str],
    resources: Sequence[str],
    context: Mapping[str, Sequence[str]] | None = None,
) -> list[Denial]:
    """Return what IAM would not allow.

    Args:
        account: who is asked.
        who: ARN of a role or user.
        actions: IAM actions.
        resources: ARNs, or `*`.
        context: condition keys of the calls, with their values.

    Raises:
        ClientError: IAM refuses to answer.
    """
    entries = [
        {"ContextKeyName": key, "ContextKeyValues": list(values), "ContextKeyType": "string"}
        for key, values in (context or {}).items()
    ]
    asked = {"PolicySourceArn": who, "ResourceArns": list(resources), "ContextEntries": entries}
    return [
        denial
        for start in range(0, len(actions), _ACTIONS_AT_ONCE)
        for result in _simulated(account, asked, list(actions[start : start + _ACTIONS_AT_ONCE]))
        for denial in _denials(result)
    ]


def _simulated(account: Account, asked: Mapping[str, Any], actions: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield IAM's result of each action; what it cannot answer together is asked in the groups that it names."""
    pages = account.client("iam").get_paginator("simulate_principal_policy").paginate(ActionNames=actions, **asked)
    try:
        results = [result for page in pages for result in page["EvaluationResults"]]
    except ClientError as error:
        groups = _groups(error, actions)
        if not groups:
            raise
        results = [result for group in groups for result in _simulated(account, asked, group)]
    yield from results


def _groups(error: ClientError, actions: list[str]) -> list[list[str]]:
    """Return the groups of actions that IAM wants to be asked about one by one; None when it says something else."""
    message = error.response["Error"]["Message"]
    if _NOT_TOGETHER not in message:
        return []
    groups = [[name.strip() for name in names.split(",")] for names in _GROUP.findall(message)]
    parted = len(groups) > 1 and sorted(name for group in groups for name in group) == sorted(actions)
    return groups if parted else []


def _denials(result: Mapping[str, Any]) -> Iterator[Denial]:
    """Yield what one action's result denies.

    Of several resources IAM answers in one result, with a part for each (IAM API reference, EvaluationResult). What the
    organization says stands at the head alone.
    """
    action = result["EvalActionName"]
    forbidden = not result.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations", True)
    head = {"EvalResourceName": result.get("EvalResourceName", "*"), "EvalResourceDecision": result["EvalDecision"]}
    parts = result.get("ResourceSpecificResults") or [{**result, **head}]
    for part in parts:
        bounded = not part.get("PermissionsBoundaryDecisionDetail", {}).get("AllowedByPermissionsBoundary", True)
        if part["EvalResourceDecision"] != "allowed" or forbidden or bounded:
            missing = _ORGANIZATION if forbidden else tuple(part.get("MissingContextValues", ()))
            yield Denial(action, part["EvalResourceName"], missing)


def denied_of_policy(account: Account, who: str, policy: Mapping[str, Any]) -> Iterator[Denial]:
    """Yield what of a policy a principal may not do on the policy's own resources.

    Each statement is asked about with one made-up resource for each of its patterns and with the values of its own
    conditions.

    Raises:
        ClientError: IAM refuses to answer.
    """
    for statement in policy["Statement"]:
        resources = [_one_of(pattern, account) for pattern in _listed(statement["Resource"])]
        context = {
            key: _listed(values)[:1]
            for operands in statement.get("Condition", {}).values()
            for key, values in operands.items()
        }
        yield from denied(account, who, _listed(statement["Action"]), resources, context)


def _one_of(pattern: str, account: Account) -> str:
    """Return a resource that a pattern covers; `*` alone stays, as it does for actions without resources."""
    if pattern == "*":
        return pattern
    arn, partition, service, region, owner, name = pattern.split(":", 5)
    partition = account.caller.arn.split(":")[1] if partition == "*" else partition
    owner = account.caller.account_id if owner == "*" else owner
    # CDK's bucket and roles have the account in their name as well.
    name = re.sub(r"(?<=-)\*(?=-|/)", account.caller.account_id, name).replace("*", _ANYTHING).replace("?", "0")
    return ":".join([arn, partition, service, region, owner, name])


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
