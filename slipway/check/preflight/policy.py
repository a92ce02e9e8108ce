"""The IAM policy that a preflight needs, written from the checks."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from slipway.check.preflight.check import Check

_READS = ("BatchGet", "Describe", "Get", "List", "Simulate")
"""What the names of actions begin with that change nothing."""


def policy(checks: Iterable[Check]) -> str:
    """Return an IAM policy document, as JSON, that allows exactly what these checks ask for."""
    actions = sorted({action for check in checks for action in check.actions})
    return json.dumps({"Version": "2012-10-17", "Statement": list(_statements(actions))}, indent=2)


def _statements(actions: list[str]) -> Iterator[dict[str, Any]]:
    """Yield what only reads, and apart from it what does not, so that whoever allows it sees it.

    Almost none of these actions can be limited to one resource.
    """
    reads = [action for action in actions if action.partition(":")[2].startswith(_READS)]
    for name, chosen in (("Read", reads), ("Try", [action for action in actions if action not in reads])):
        if chosen:
            yield {"Sid": f"SlipwayPreflight{name}", "Effect": "Allow", "Action": chosen, "Resource": "*"}
