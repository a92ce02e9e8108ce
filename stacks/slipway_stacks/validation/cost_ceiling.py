"""Refuses, at synth, an environment whose peak cost is above the ceiling of its file."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import aws_cdk as cdk

from slipway.assembly.stacks import read_stacks
from slipway.config.environment import Environment
from slipway.config.loader import located
from slipway.review.ceiling import RULE, above_ceiling, dearest_lines
from slipway.review.cost.estimate import estimate
from slipway_stacks.validation.plugin import TemplateRules, violating


def cost_ceiling(file: Path, environment: Environment) -> TemplateRules:
    """Return `operations.max_usd_per_hour` as a rule.

    It reads the templates that were just written, as `slipway plan` does, so that both say the same number.
    `CDK_VALIDATION=false` switches off the CDK's own validation of templates, not plug-ins (aws-cdk-lib,
    core/lib/private/synthesis-validation): no synth goes around this one.

    Args:
        file: the environment file.
        environment: what it says.
    """
    return TemplateRules("slipway-cost", [RULE], partial(_violations, file, environment))


def _violations(file: Path, environment: Environment, folder: Path) -> Iterator[cdk.PolicyViolation]:
    if environment.operations.max_usd_per_hour is None:
        return
    cost = estimate(read_stacks(folder))
    finding = above_ceiling(cost, environment.operations)
    if finding is None:
        return
    # One resource, for which the CDK repeats the message: the dearest, or one without a price.
    [line] = (*dearest_lines(cost), *cost.unknown)[:1]
    message = str(located(file, finding))
    # The sum is above the ceiling, not that resource. Without a violation that names none, the CDK CLI would refuse
    # its stack and deploy others by their names (cloud-assembly-api, validation/loading: filterReportsByStacks).
    # The CDK prints only one that names some.
    for resources in ([violating(folder, line.stack, line.logical_id, line.what)], []):
        yield cdk.PolicyViolation(rule_name=RULE, description=message, severity="error", violating_resources=resources)
