"""Cross-field rules: what the types of the fields cannot say. Importing a module here registers its rules."""

from slipway.spec.rules import (
    capacity,
    cluster,
    endpoint,
    inference,
    network,
    nodes,
    region,
    storage,
    tags,
    training_stacks,
)
from slipway.spec.rules.registry import RULES, Rule, broken_rules

__all__ = [
    "RULES",
    "Rule",
    "broken_rules",
    "capacity",
    "cluster",
    "endpoint",
    "inference",
    "network",
    "nodes",
    "region",
    "storage",
    "tags",
    "training_stacks",
]
