"""Runs the rules over the whole assembly at synth: an error fails `cdk synth`, a warning is printed."""

from pathlib import Path

import aws_cdk as cdk
import jsii

from slipway.review.wiring.parts import read_parts
from slipway.review.wiring.rules import RULES, Finding, run_rules


@jsii.implements(cdk.IPolicyValidationPlugin)
class WiringRules:
    """The rules of docs/wiring-rules.md as a policy validation plug-in of the CDK."""

    @property
    def name(self) -> str:
        """What the validation report calls the rules."""
        return "slipway-wiring"

    @property
    def rule_ids(self) -> list[str]:
        """Ids of all rules."""
        return list(RULES)

    @property
    def version(self) -> None:
        """The rules have no version of their own."""
        return

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        """Check the assembly that has just been written."""
        folder = Path(context.template_paths[0]).parent
        found = run_rules(read_parts(folder))
        return cdk.PolicyValidationPluginReport(
            success=not any(RULES[finding.rule].severity == "error" for finding in found),
            violations=[_violation(folder, finding) for finding in found],
        )


def _violation(folder: Path, finding: Finding) -> cdk.PolicyViolation:
    rule = RULES[finding.rule]
    return cdk.PolicyViolation(
        rule_name=rule.id,
        description=f"{finding.message}. {rule.reason}",
        fix=rule.fix,
        severity=rule.severity,
        violating_resources=[
            cdk.PolicyViolatingResource(
                resource_logical_id=finding.logical_id,
                template_path=str(folder / f"{finding.stack}.template.json"),
                locations=[f"Properties.{finding.path}" if finding.path else "Properties"],
            )
        ],
    )
