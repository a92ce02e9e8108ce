"""Cross-field rules: what the types of the fields cannot say. Importing a module here registers its rules."""

from slipway.spec.rules import (
    access,
    addresses,
    arns,
    capacity,
    checkpoints,
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
from slipway.spec.rules.registry import NOTICES, RULES, Rule, findings_of

__all__ = [
    "NOTICES",
    "RULES",
    "Rule",
    "access",
    "addresses",
    "arns",
    "capacity",
    "checkpoints",
    "cluster",
    "endpoint",
    "findings_of",
    "inference",
    "network",
    "nodes",
    "region",
    "storage",
    "tags",
    "training_stacks",
]
