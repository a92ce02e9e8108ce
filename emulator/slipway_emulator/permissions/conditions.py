"""The conditions of a policy's statement.

Source: IAM User Guide, "IAM JSON policy elements: Condition operators", "Conditions with multiple context keys or
values" and "Policy variables", as of 2026-11.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Any

Context = Mapping[str, Sequence[str]]
"""Condition keys in lower case, each with its values. A key that AWS does not send is not there."""

_VARIABLE = re.compile(r"\$\{([^}]+)\}")
UNKNOWN = "\0"
"""In place of a variable without a value: no value has this character."""

_ARN_PARTS = 6
_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    "Equals": lambda actual, wanted: actual == wanted,
    "LessThan": lambda actual, wanted: actual < wanted,
    "LessThanEquals": lambda actual, wanted: actual <= wanted,
    "GreaterThan": lambda actual, wanted: actual > wanted,
    "GreaterThanEquals": lambda actual, wanted: actual >= wanted,
}


class UnknownOperatorError(ValueError):
    """A policy has a condition operator that IAM does not have."""


@lru_cache(maxsize=20_000)
def pattern(text: str, *, any_case: bool = False) -> re.Pattern[str]:
    """Return what a text with `*` and `?` stands for."""
    parts = (".*" if sign == "*" else "." if sign == "?" else re.escape(sign) for sign in text)
    return re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if any_case else 0))


def as_list(value: Any) -> list[Any]:
    """Return the value of a policy's element, which may be one or several."""
    return value if isinstance(value, list) else [value]


def filled(text: str, context: Context) -> str:
    """Put values into a text's policy variables; a text with a variable without a value never matches."""

    def value(found: re.Match[str]) -> str:
        if found[1] in ("*", "?", "$"):
            return found[1]
        name, _, default = (part.strip() for part in found[1].partition(","))
        values = context.get(name.lower(), ())
        return values[0] if len(values) == 1 else default.strip("'") or UNKNOWN

    return _VARIABLE.sub(value, text) if "${" in text else text


def hold(condition: Mapping[str, Any], context: Context) -> bool:
    """Whether all conditions of a statement hold.

    Raises:
        UnknownOperatorError: an operator is not one of IAM's.
    """
    return all(
        _holds(operator, wanted, context.get(key.lower()), context)
        for operator, keys in condition.items()
        for key, wanted in keys.items()
    )


def _holds(operator: str, wanted: Any, actual: Sequence[str] | None, context: Context) -> bool:
    qualifier, _, name = operator.rpartition(":")
    if_exists, name = name.endswith("IfExists"), name.removesuffix("IfExists")
    if name == "Null":
        return (not actual) == (str(as_list(wanted)[0]).lower() == "true")
    negated = "Not" in name
    test = _test(name.replace("Not", "", 1))
    texts = [filled(str(text), context) for text in as_list(wanted)]

    def matches(value: str) -> bool:
        return any(test(value, text) for text in texts) != negated

    if actual is None or (not actual and qualifier):
        return if_exists or qualifier == "ForAllValues" or (negated and not qualifier)
    if qualifier == "ForAnyValue":
        return any(map(matches, actual))
    if qualifier == "ForAllValues" or negated:
        return all(map(matches, actual))
    return any(map(matches, actual))


def _test(name: str) -> Callable[[str, str], bool]:
    """Return the comparison of an operator: actual value, wanted value."""
    if name in ("StringEquals", "BinaryEquals"):
        return lambda actual, wanted: actual == wanted
    if name in ("StringEqualsIgnoreCase", "Bool"):
        return lambda actual, wanted: actual.lower() == wanted.lower()
    if name == "StringLike":
        return lambda actual, wanted: pattern(wanted).fullmatch(actual) is not None
    if name in ("ArnLike", "ArnEquals"):
        return _arn_like
    if name == "IpAddress":
        return _in_network
    for kind, number in (("Numeric", float), ("Date", _seconds)):
        if order := _ORDERS.get(name.removeprefix(kind)) if name.startswith(kind) else None:
            return _ordered(order, number)
    raise UnknownOperatorError(f"IAM has no condition operator {name}")


def _ordered(order: Callable[[float, float], bool], number: Callable[[str], float]) -> Callable[[str, str], bool]:
    def compare(actual: str, wanted: str) -> bool:
        with suppress(ValueError):  # a value that is not a number or a date does not match
            return order(number(actual), number(wanted))
        return False

    return compare


def _seconds(text: str) -> float:
    """Read a date: ISO 8601 or seconds since 1970."""
    with suppress(ValueError):
        return float(text)
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _arn_like(actual: str, wanted: str) -> bool:
    """Compare the six parts of an ARN one by one: a `*` reaches over no colon but in the last."""
    parts, wanted_parts = actual.split(":", _ARN_PARTS - 1), wanted.split(":", _ARN_PARTS - 1)
    return len(parts) == len(wanted_parts) and all(
        pattern(want).fullmatch(part) for part, want in zip(parts, wanted_parts, strict=True)
    )


def _in_network(actual: str, wanted: str) -> bool:
    with suppress(ValueError):
        return ip_address(actual) in ip_network(wanted, strict=False)
    return False
