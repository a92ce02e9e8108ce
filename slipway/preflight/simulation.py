"""IAM's own answer to "may this principal do that?", without doing it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slipway.preflight.account import Account

_ACTIONS_AT_ONCE = 100
"""How many actions one simulation is asked about, so that its answer stays a few pages."""

_ANYTHING = "slipway-preflight"
"""Stands for what a pattern of a resource leaves open; the simulation asks about one resource, not about a pattern."""


def denied(
    account: Account,
    who: str,
    actions: Sequence[str],
    resources: Sequence[str],
    context: Mapping[str, Sequence[str]] | None = None,
) -> list[tuple[str, str]]:
    """Return the (action, resource) pairs that IAM would not allow.

    Args:
        account: who is asked.
        who: ARN of a role or user.
        actions: IAM actions.
        resources: ARNs, or `*`.
        context: condition keys of the calls, with their values.

    Raises:
        ClientError: IAM refuses to tell.
    """
    simulate = account.client("iam").get_paginator("simulate_principal_policy")
    entries = [
        {"ContextKeyName": key, "ContextKeyValues": list(values), "ContextKeyType": "string"}
        for key, values in (context or {}).items()
    ]
    return [
        (result["EvalActionName"], resource)
        for start in range(0, len(actions), _ACTIONS_AT_ONCE)
        for page in simulate.paginate(
            PolicySourceArn=who,
            ActionNames=list(actions[start : start + _ACTIONS_AT_ONCE]),
            ResourceArns=list(resources),
            ContextEntries=entries,
        )
        for result in page["EvaluationResults"]
        for resource, decision in _decisions(result)
        if decision != "allowed"
    ]


def _decisions(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the resources of one action's result with IAM's decision about each.

    Of several resources IAM answers in one result, with a part for each (IAM API reference, EvaluationResult).
    """
    parts = result.get("ResourceSpecificResults", ())
    for part in parts:
        yield part["EvalResourceName"], part["EvalResourceDecision"]
    if not parts:
        yield result.get("EvalResourceName", "*"), result["EvalDecision"]


def denied_of_policy(account: Account, who: str, policy: Mapping[str, Any]) -> Iterator[str]:
    """Yield the actions of a policy that a principal may not do on the policy's own resources.

    Each statement is asked about with one made-up resource for each of its patterns and with the values of its own
    conditions.

    Raises:
        ClientError: IAM refuses to tell.
    """
    for statement in policy["Statement"]:
        resources = [_one_of(pattern, account) for pattern in _listed(statement["Resource"])]
        context = {
            key: _listed(values)[:1]
            for operands in statement.get("Condition", {}).values()
            for key, values in operands.items()
        }
        for action, _ in denied(account, who, _listed(statement["Action"]), resources, context):
            yield action


def _one_of(pattern: str, account: Account) -> str:
    """Return a resource that a pattern covers; `*` alone stays, as it does for actions without resources."""
    if pattern == "*":
        return pattern
    arn, partition, service, region, owner, name = pattern.split(":", 5)
    partition = account.caller.arn.split(":")[1] if partition == "*" else partition
    owner = account.caller.account_id if owner == "*" else owner
    # CDK's bucket and roles have the account in their name as well.
    name = re.sub(r"(?<=-)\*(?=-|/)", account.caller.account_id, name).replace("*", _ANYTHING)
    return ":".join([arn, partition, service, region, owner, name])


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
