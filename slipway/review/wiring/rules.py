"""All rules over an assembly. Importing this module registers them."""

from slipway.review.wiring import alarms, metrics, network, reachability
from slipway.review.wiring.registry import RULES, Finding, run_rules

__all__ = ["RULES", "Finding", "alarms", "metrics", "network", "reachability", "run_rules"]
