"""All rules. Importing this package registers them."""

from slipway.review.lint.registry import RULES, NotChecked, Result, run_rules
from slipway.review.lint.rules import access, capacity, nodes, operations, permissions, release, scripts, storage

__all__ = [
    "RULES",
    "NotChecked",
    "Result",
    "access",
    "capacity",
    "nodes",
    "operations",
    "permissions",
    "release",
    "run_rules",
    "scripts",
    "storage",
]
