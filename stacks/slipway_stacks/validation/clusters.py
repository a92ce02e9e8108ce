"""Runs the rule pack over the cluster's configuration at synth.

The security packs see a custom resource with a configuration they do not know; this one reads it.
"""

from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk

from slipway.config.problems import dotted
from slipway.review.lint.assembly import lint_assembly
from slipway.review.lint.rules import RULES
from slipway_stacks.validation.plugin import TemplateRules, violating


def cluster_rules() -> TemplateRules:
    """Return the rules of docs/cluster-rules.md."""
    return TemplateRules("slipway-cluster-rules", list(RULES), _violations)


def _violations(folder: Path) -> Iterator[cdk.PolicyViolation]:
    for linted in lint_assembly(folder):
        for finding in linted.result.findings:
            rule = RULES[finding.rule]
            location = dotted(("Properties", "ClusterConfiguration", *finding.path))
            yield cdk.PolicyViolation(
                rule_name=rule.id,
                description=f"{dotted(finding.path)}: {finding.message}. {rule.reason}",
                fix=finding.fix,
                severity=rule.severity,
                violating_resources=[violating(folder, linted.found.stack, linted.found.logical_id, location)],
            )
