"""Stacks that `cdk deploy` skips although resources in them change.

The CDK CLI compares each stack's template and settings with what is deployed, and skips the stack when they are equal
(aws-cdk 2.1148.1, `canSkipDeploy` in @aws-cdk/toolkit-lib/lib/api/deployments/deploy-stack.ts). A value that
`Fn::GetStackOutput` reads from another stack is in neither, and CloudFormation reads it only when it updates the stack
(CloudFormation template reference, "Fn::GetStackOutput").
"""

import json
from collections.abc import Collection
from typing import Any

from slipway.assembly.stacks import Stack


def skipped_stacks(base: tuple[Stack, ...], head: tuple[Stack, ...], changed: Collection[str]) -> tuple[str, ...]:
    """Return the names of the stacks that change and that the CDK CLI would skip without `--force`.

    Args:
        base: what is deployed.
        head: what shall be.
        changed: names of the stacks whose resources change.
    """
    deployed = {stack.name: stack for stack in base}
    return tuple(
        stack.name
        for stack in head
        if stack.name in changed and stack.name in deployed and _looks_the_same(deployed[stack.name], stack)
    )


def _looks_the_same(before: Stack, after: Stack) -> bool:
    return (
        json.dumps(before.template) == json.dumps(after.template)
        and before.tags == after.tags
        and before.termination_protection == after.termination_protection
        and not any(_is_always_deployed(row) for row in after.template.get("Parameters", {}).values())
    )


def _is_always_deployed(parameter: dict[str, Any]) -> bool:
    """Whether the CLI deploys a stack for this parameter alone: its value is in Parameter Store, where it may change.

    Source: `ParameterValues.hasChanges` in cfn-api.ts beside it; the mark is in cloud-assembly-api's bootstrap.ts.
    """
    return parameter["Type"].startswith("AWS::SSM::Parameter::") and "[cdk:skip]" not in parameter.get(
        "Description", ""
    )
