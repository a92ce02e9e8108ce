"""Runs the rules over the whole assembly at synth."""

from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk

from slipway.review.wiring.resources import read_assembly
from slipway.review.wiring.rules import RULES, run_rules
from slipway_stacks.validation.plugin import TemplateRules, violating


def wiring_rules() -> TemplateRules:
    """Return the rules of docs/wiring-rules.md."""
    return TemplateRules("slipway-wiring", list(RULES), _violations)


def _violations(folder: Path) -> Iterator[cdk.PolicyViolation]:
    for finding in run_rules(read_assembly(folder)):
        rule = RULES[finding.rule]
        location = f"Properties.{finding.path}" if finding.path else "Properties"
        yield cdk.PolicyViolation(
            rule_name=rule.id,
            description=f"{finding.message}. {rule.reason}",
            fix=rule.fix,
            severity=rule.severity,
            violating_resources=[violating(folder, finding.stack, finding.logical_id, location)],
        )
