"""The calls of the table, made with boto3."""

from collections.abc import Iterator, Mapping
from typing import Any

import jmespath

from slipway.remove.leftovers.kind import Call, ListCall


def listed(client: Any, call: ListCall, path: str, facts: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield everything that a list call knows, each with its parent's name (none where the call has no parents).

    Args:
        client: boto3 client of the call's service.
        call: the call.
        path: JMESPath expression that takes things out of an answer.
        facts: what `{name}` in the call's parameters becomes.

    Raises:
        Exception: one of `slipway.aws.refusals.UNANSWERED`.
    """
    if call.for_each is None:
        yield from ((None, value) for value in answers(client, call, path, facts, {}))
        return
    parents = call.for_each
    for _, parent in listed(client, parents, parents.path, facts):
        further = {parents.parameter: parent}
        yield from ((parent, value) for value in answers(client, call, path, facts, further))


def answers(client: Any, call: Call, path: str, facts: Mapping[str, Any], further: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what a JMESPath expression takes out of the answers to one call, page by page."""
    parameters = {**_filled(call.parameters, facts), **further}
    if client.can_paginate(call.operation):
        pages = iter(client.get_paginator(call.operation).paginate(**parameters))
    else:
        pages = iter([getattr(client, call.operation)(**parameters)])
    for page in pages:
        yield from jmespath.search(path, page) or []


def _filled(value: Any, facts: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return value.format_map(facts)
    if isinstance(value, list):
        return [_filled(element, facts) for element in value]
    if isinstance(value, dict):
        return {key: _filled(element, facts) for key, element in value.items()}
    return value
