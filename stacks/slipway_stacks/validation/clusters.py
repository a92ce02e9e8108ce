"""Runs the rule pack over the cluster's configuration at synth: an error fails `cdk synth`, a warning is printed."""

from pathlib import Path

import aws_cdk as cdk
import jsii

from slipway.assembly.templates import TemplateCluster
from slipway.config.problems import Finding, dotted
from slipway.review.lint.assembly import lint_assembly
from slipway.review.lint.rules import RULES


@jsii.implements(cdk.IPolicyValidationPlugin)
class ClusterRules:
    """The rules of docs/cluster-rules.md as a policy validation plug-in of the CDK.

    The security packs see a custom resource with a configuration they do not know; this one reads it.
    """

    @property
    def name(self) -> str:
        """What the validation report calls the rules."""
        return "slipway-cluster-rules"

    @property
    def rule_ids(self) -> list[str]:
        """Ids of all rules."""
        return list(RULES)

    @property
    def version(self) -> None:
        """The rules have no version of their own."""
        return

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        """Lint every cluster of the assembly that has just been written."""
        folder = Path(context.template_paths[0]).parent
        found = [(linted.found, finding) for linted in lint_assembly(folder) for finding in linted.result.findings]
        return cdk.PolicyValidationPluginReport(
            success=not any(RULES[finding.rule].severity == "error" for _, finding in found),
            violations=[_violation(folder, cluster, finding) for cluster, finding in found],
        )


def _violation(folder: Path, cluster: TemplateCluster, finding: Finding) -> cdk.PolicyViolation:
    rule = RULES[finding.rule]
    return cdk.PolicyViolation(
        rule_name=rule.id,
        description=f"{dotted(finding.path)}: {finding.message}. {rule.reason}",
        fix=finding.fix,
        severity=rule.severity,
        violating_resources=[
            cdk.PolicyViolatingResource(
                resource_logical_id=cluster.logical_id,
                template_path=str(folder / f"{cluster.stack}.template.json"),
                locations=[dotted(("Properties", "ClusterConfiguration", *finding.path))],
            )
        ],
    )
