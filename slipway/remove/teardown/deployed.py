"""Whether what is deployed deletes data that the environment file, as it is now, does not name as lost.

CloudFormation deletes a stack by the template that was deployed last. A file that was edited since, to keep the file
system for instance, keeps nothing until it is deployed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from slipway.assembly.stacks import Stack
from slipway.aws.stacks import DeployedStack
from slipway.errors import RefusedError
from slipway.remove.scope import Scope, find_clusters, find_lost

_WITHOUT_TEMPLATE = "REVIEW_IN_PROGRESS"
"""State of a stack whose first change set was never executed: it has no template, and no resources."""


def refuse_unnamed_losses(scope: Scope, deployed: Mapping[str, DeployedStack], cloudformation: Any) -> None:
    """Compare the deployed templates with the assembly.

    Args:
        scope: what belongs to the environment, by its assembly.
        deployed: its deployed stacks, by name.
        cloudformation: boto3 client.

    Raises:
        RefusedError: more data would be lost than the assembly says.
        ClientError: CloudFormation does not return a template.
    """
    stacks = tuple(_deployed(scope.stacks, deployed, cloudformation))
    named = {str(resource) for resource in scope.lost} | set(_volumes(scope.stacks))
    unnamed = [
        *(str(resource) for resource in find_lost(stacks) if str(resource) not in named),
        *(volume for volume in _volumes(stacks) if volume not in named),
    ]
    if unnamed:
        raise RefusedError(
            f"{', '.join(unnamed)} would be lost: what is deployed deletes it, whatever the environment file says now. "
            "Deploy the file first, which is how data are kept; or destroy with the file that was deployed. "
            "Nothing was changed"
        )


def _deployed(stacks: Iterable[Stack], deployed: Mapping[str, DeployedStack], cloudformation: Any) -> Iterator[Stack]:
    for stack in stacks:
        if stack.name in deployed and deployed[stack.name].status != _WITHOUT_TEMPLATE:
            answer = cloudformation.get_template(StackName=deployed[stack.name].id)
            yield replace(stack, template=answer["TemplateBody"])  # boto3 reads JSON, which is what the CDK deploys


def _volumes(stacks: Iterable[Stack]) -> Iterator[str]:
    """Yield the volumes of Slurm clusters that are deleted with their cluster."""
    for cluster in find_clusters(stacks):
        yield from (
            f"volume {mount} of cluster {cluster.name}"
            for mount, policy in cluster.volumes.items()
            if policy == "Delete"
        )
