"""Refuses, at synth, an environment whose peak cost is above the ceiling of its file."""

from pathlib import Path

import aws_cdk as cdk
import jsii

from slipway.assembly.stacks import read_stacks
from slipway.config.environment import Environment
from slipway.config.loader import located
from slipway.review.ceiling import RULE, above_ceiling, dearest_lines
from slipway.review.cost.estimate import estimate


@jsii.implements(cdk.IPolicyValidationPlugin)
class CostCeiling:
    """`operations.max_usd_per_hour` as a policy validation plug-in of the CDK.

    It reads the templates that were just written, as `slipway plan` does, so that both say the same number.
    `CDK_VALIDATION=false` switches off the CDK's own validation of templates, not plug-ins (aws-cdk-lib,
    core/lib/private/synthesis-validation): no synth goes around this one.
    """

    def __init__(self, file: Path, environment: Environment) -> None:
        """Take the environment file, and what it says."""
        self._file, self._environment = file, environment

    @property
    def name(self) -> str:
        """What the validation report calls it."""
        return "slipway-cost"

    @property
    def rule_ids(self) -> list[str]:
        """Ids of all rules."""
        return [RULE]

    @property
    def version(self) -> None:
        """The rule has no version of its own."""
        return

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        """Estimate the assembly that has just been written."""
        if self._environment.operations.max_usd_per_hour is None:
            return cdk.PolicyValidationPluginReport(success=True, violations=[])
        folder = Path(context.template_paths[0]).parent
        cost = estimate(read_stacks(folder))
        finding = above_ceiling(cost, self._environment.operations)
        if finding is None:
            return cdk.PolicyValidationPluginReport(success=True, violations=[])
        # One resource, for which the CDK repeats the message: the dearest, or one without a price.
        [line] = (*dearest_lines(cost), *cost.unknown)[:1]
        named = cdk.PolicyViolatingResource(
            resource_logical_id=line.logical_id,
            template_path=str(folder / f"{line.stack}.template.json"),
            locations=[line.what],
        )
        message = str(located(self._file, finding))
        # The sum is above the ceiling, not that resource. Without a violation that names none, the CDK CLI would refuse
        # its stack and deploy others by their names (cloud-assembly-api, validation/loading: filterReportsByStacks).
        # The CDK prints only one that names some.
        return cdk.PolicyValidationPluginReport(
            success=False, violations=[_violation(message, named), _violation(message)]
        )


def _violation(message: str, *resources: cdk.PolicyViolatingResource) -> cdk.PolicyViolation:
    return cdk.PolicyViolation(
        rule_name=RULE, description=message, severity="error", violating_resources=list(resources)
    )
