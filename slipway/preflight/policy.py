"""The IAM policy that a preflight needs, written from the checks."""

import json
from collections.abc import Iterable

from slipway.preflight.check import Check


def policy(checks: Iterable[Check]) -> str:
    """Return an IAM policy document, as JSON, that allows exactly what these checks ask for."""
    actions = sorted({action for check in checks for action in check.actions})
    # Almost none of these actions can be limited to one resource; they only read.
    statement = {"Sid": "SlipwayPreflight", "Effect": "Allow", "Action": actions, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, indent=2)
