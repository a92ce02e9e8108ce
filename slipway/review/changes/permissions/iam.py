"""What IAM allows and did not allow before."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from slipway.review.changes.model import Harm, WiderAccess
from slipway.review.changes.permissions.addresses import holds
from slipway.review.changes.permissions.statements import ATTACHED, NOT, SEPARATOR, Statement, read_statements
from slipway.review.changes.permissions.words import words
from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource

_WILDCARD = re.compile(r"\\\*|\\\?")

_KINDS = {"AWS::IAM::Role": "role", "AWS::IAM::ManagedPolicy": "whoever has policy", "AWS::IAM::User": "user"}


def iam_wider_access(before: Mapping[str, Resource], after: Mapping[str, Resource]) -> Iterator[WiderAccess]:
    """Yield what is allowed now by no statement of before, and what was denied and is no more.

    A statement may move from policy to policy, be split, or become narrower: each action of each principal on each
    resource is looked up by itself.
    """
    old = tuple(read_statements(before))
    # An endpoint that is new gives nobody anything.
    new = tuple(
        statement for statement in read_statements(after) if not statement.through or statement.through in before
    )
    for statement in _of_effect(new, "Allow"):
        if (more := _beyond(statement, _of_effect(old, "Allow"))) is not None:
            yield _wider_access(after[more.owner], _harm(more), _sentence("Allow", more, after))
    for statement in _of_effect(old, "Deny"):
        less = _beyond(statement, _of_effect(new, "Deny"))
        if less is not None and (less := _remaining(less, after)) is not None:
            yield _wider_access(before[less.owner], "permissions", _sentence("No longer deny", less, after))


def _of_effect(statements: Iterable[Statement], effect: str) -> tuple[Statement, ...]:
    return tuple(statement for statement in statements if statement.effect == effect)


def _beyond(statement: Statement, others: Iterable[Statement]) -> Statement | None:
    """Return the part of a statement that none of the others covers; None when there is no such part."""
    near = [other for other in others if other.through == statement.through and _is_condition_covered(statement, other)]
    missing = [
        (principal, action, resource)
        for principal in statement.principals
        for action in statement.actions
        for resource in statement.resources
        if not any(
            _covers(other.principals, principal)
            and _covers(other.actions, action, re.IGNORECASE)
            and _covers(other.resources, resource)
            for other in near
        )
    ]
    if not missing:
        return None
    principals, actions, resources = (frozenset(part) for part in zip(*missing, strict=True))
    return replace(statement, principals=principals, actions=actions, resources=resources)


def _is_condition_covered(statement: Statement, other: Statement) -> bool:
    """Return whether the other holds wherever the statement holds, as far as their conditions say."""
    mine = [(operator, name.lower(), values) for (operator, name), values in statement.condition.items()]
    return all(
        any(
            one in (operator, operator.removesuffix("IfExists"))
            and key == name.lower()
            and _is_no_wider(one, given, values)
            for one, key, given in mine
        )
        for (operator, name), values in other.condition.items()
    )


def _is_no_wider(operator: str, values: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether a condition with these values never holds where it does not with the others.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
    """
    if "Not" in operator:
        return values >= others
    if "Like" in operator:
        return all(_covers(others, value) for value in values)
    if "IpAddress" in operator:
        return all(any(holds(wider, value) for wider in others) for value in values)
    return values <= others


def _covers(patterns: frozenset[str], value: str, flags: re.RegexFlag = re.NOFLAG) -> bool:
    """Return whether a value is within one of some patterns; only the names of actions are the same in any case."""
    return any(_is_within(value, pattern, flags) for pattern in patterns)


def _is_within(value: str, pattern: str, flags: re.RegexFlag) -> bool:
    if not pattern.startswith(NOT):
        return _pattern(pattern, flags).fullmatch(value) is not None
    excluded = pattern.removeprefix(NOT).split(SEPARATOR)
    if value.startswith(NOT):
        # All but these is within all but those when these are all of those, or more.
        return all(_covers(frozenset(value.removeprefix(NOT).split(SEPARATOR)), item, flags) for item in excluded)
    if any(mark in value for mark in "*?"):
        return all(_are_apart(value, item) for item in excluded)
    return not _covers(frozenset(excluded), value, flags)


def _are_apart(one: str, other: str) -> bool:
    """Return whether the text before the first wildcards of two patterns shows that nothing matches both."""
    begin, start = (re.split(r"[*?]", text.lower(), maxsplit=1)[0] for text in (one, other))
    return not (begin.startswith(start) or start.startswith(begin))


@cache
def _pattern(pattern: str, flags: re.RegexFlag) -> re.Pattern[str]:
    # A `*` in the value itself is one more character for `.*`; a `?` must not stand for it.
    regular = _WILDCARD.sub(lambda match: ".*" if match[0] == r"\*" else "[^*]", re.escape(pattern))
    return re.compile(regular, flags | re.DOTALL)


def _remaining(statement: Statement, after: Mapping[str, Resource]) -> Statement | None:
    """Return what a statement says of principals and resources that are still there: the others reach nothing."""

    def there(values: frozenset[str]) -> frozenset[str]:
        return frozenset(value for value in values if {key for key, _ in references([value])} <= after.keys())

    principals, resources = there(statement.principals), there(statement.resources)
    return replace(statement, principals=principals, resources=resources) if principals and resources else None


def _wider_access(resource: Resource, harm: Harm, what: str) -> WiderAccess:
    return WiderAccess(stack=resource.stack, resource=resource.logical_id, kind="iam", harm=harm, what=what)


def _harm(statement: Statement) -> Harm:
    """Return what a statement that allows something may do; a condition or an endpoint narrows whom it is for."""
    if "*" in statement.principals and not statement.condition and not statement.through:
        return "public"
    return "full_access" if "*" in statement.actions else "permissions"


def _sentence(verb: str, statement: Statement, after: Mapping[str, Resource]) -> str:
    whom, resources = _principals(statement, after), _listed(statement.resources)
    if statement.through:
        whom += f" through {words(f'${{{statement.through}}}')}"
    if statement.actions == ATTACHED:
        return f"{verb} all of policy {resources} for {whom}"
    sentence = f"{verb} {_listed(statement.actions)} on {resources} for {whom}"
    conditions = [
        f"{words(name)} {operator} {_listed(values)}"
        for (operator, name), values in sorted(statement.condition.items())
    ]
    return f"{sentence}, if {' and '.join(conditions)}" if conditions else sentence


def _principals(statement: Statement, after: Mapping[str, Resource]) -> str:
    kinds = {
        _KINDS.get(after[key].type, "")
        for key, _ in references(list(statement.principals))
        if key in after and not next(iter(statement.principals)).startswith("AWS ")
    }
    names = "anyone" if "*" in statement.principals else _listed(statement.principals)
    return f"{kinds.pop()} {names}".strip() if len(kinds) == 1 else names


def _listed(values: frozenset[str]) -> str:
    return ", ".join(sorted(words(value) for value in values))
