"""All rules over an assembly. Importing this module registers them."""

from slipway.review.wiring import alarms, metrics
from slipway.review.wiring.registry import RULES, Finding, Rule, run_rules

__all__ = ["RULES", "Finding", "Rule", "alarms", "metrics", "run_rules"]
