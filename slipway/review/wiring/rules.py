"""All rules over an assembly. Importing this module registers them."""

from slipway.review.wiring import alarms, kubernetes, metrics, network, pods, reachability
from slipway.review.wiring.registry import RULES, Finding, run_rules

__all__ = ["RULES", "Finding", "alarms", "kubernetes", "metrics", "network", "pods", "reachability", "run_rules"]
