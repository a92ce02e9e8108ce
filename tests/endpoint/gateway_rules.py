"""Which rule of a listener takes a request, and what it does to the URL, as AWS documents it."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.endpoint.gateway_template import (
    Condition,
    HostHeader,
    KnownRule,
    PathPattern,
    RedirectConfig,
    Rewrite,
    TargetGroupTuple,
)


@dataclass(frozen=True, kw_only=True)
class ReceivedRequest:
    """What rules look at."""

    method: str
    host: str
    """Host name without port."""

    target: str
    """Path and query as they came: no document says that a load balancer decodes or normalizes them."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


def rule_for(rules: Sequence[KnownRule], request: ReceivedRequest) -> KnownRule:
    """Return the first rule whose conditions all hold."""
    return next(rule for rule in rules if all(_holds(condition, request) for condition in rule.conditions))


def _holds(condition: Condition, request: ReceivedRequest) -> bool:
    if isinstance(condition, PathPattern):
        return any(_matches(pattern, request.path) for pattern in condition.path_pattern_config.values)
    if isinstance(condition, HostHeader):
        # Host names have no case.
        patterns = [pattern.lower() for pattern in condition.host_header_config.values]
        return any(_matches(pattern, request.host.lower()) for pattern in patterns)
    return request.method in condition.http_request_method_config.values


def _matches(pattern: str, text: str) -> bool:
    """Compare with `*` for any characters and `?` for one; nothing else is special, and the case counts."""
    expression = "".join({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in pattern)
    return re.fullmatch(expression, text, re.DOTALL) is not None


def rewritten(rewrite: Rewrite | None, request: ReceivedRequest) -> str:
    """Return the path and query that the target sees.

    Raises:
        ValueError: the result depends on whether the expression sees the query, which is not documented.
    """
    if rewrite is None:
        return request.target
    replacement = re.sub(r"\$(\d)", r"\\g<\1>", rewrite.replace.replace("\\", r"\\"))
    whole = re.sub(rewrite.regex, replacement, request.target, count=1)
    path = re.sub(rewrite.regex, replacement, request.path, count=1)
    if whole != (f"{path}?{request.query}" if request.query else path):
        raise ValueError(f"{rewrite.regex} rewrites {request.target} to {path} or {whole}: one with, one without query")
    return whole


def redirected(config: RedirectConfig, request: ReceivedRequest, *, protocol: str, port: int) -> str:
    """Return the address that a redirect names."""
    fields = {
        "protocol": protocol.lower(),
        "host": request.host,
        "port": str(port),
        "path": request.path.removeprefix("/"),
        "query": request.query,
    }

    def filled(template: str) -> str:
        return re.sub(r"#\{(\w+)\}", lambda found: fields[found[1]], template)

    query = filled(config.query)
    address = f"{filled(config.protocol).lower()}://{filled(config.host)}:{filled(config.port)}{filled(config.path)}"
    return f"{address}?{query}" if query else address


def chosen_by_weight(groups: Sequence[TargetGroupTuple], chance: random.Random) -> str | None:
    """Return the target group for one request; None when no group has a weight."""
    weights = [group.weight for group in groups]
    if not any(weights):
        return None
    return chance.choices([group.target_group_arn for group in groups], weights)[0]
