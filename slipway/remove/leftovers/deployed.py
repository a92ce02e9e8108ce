"""What is not a leftover, because it belongs to a deployed stack."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slipway.remove.leftovers.item import Item
from slipway.remove.leftovers.ownership import STACK_ID_TAG, Subject, clusters_in, is_named, patterns

_NESTED = "AWS::CloudFormation::Stack"
_OVER = ("DELETE_", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "REVIEW_IN_PROGRESS")
"""States of stacks that are not an environment: deletions that failed, creations that never succeeded."""


@dataclass(frozen=True)
class Deployed:
    """What exists.

    Attributes:
        stacks: names of the environment's deployed stacks; empty when none does.
        ids: physical ids of their resources, nested stacks' included, and their own ARNs.
        subject: the environment as far as it stands: these stacks, and the clusters in them.
    """

    stacks: tuple[str, ...]
    ids: frozenset[str]
    subject: Subject

    def owns(self, item: Item, owned: Iterable[str]) -> bool:
        """Return whether a thing of the environment belongs to what exists.

        Args:
            item: the thing.
            owned: ids of instances and the like that were found to belong to it already.
        """
        if not self.stacks:
            return False
        ids = {*self.ids, *owned}
        if ids & {item.id, item.name, *(str(item.facts.get(fact)) for fact in ("of", "instance", "parent"))}:
            return True
        tags = item.tags
        if STACK_ID_TAG in tags:  # not by the name: an earlier stack of the same name may have kept it
            return tags[STACK_ID_TAG] in ids
        if tags.get("aws:autoscaling:groupName") in ids:
            return True
        if any(cluster in self.subject.clusters for cluster in clusters_in(tags)):
            return True
        # Names that their makers give. CloudFormation's prove nothing: an earlier stack of that name may have kept it.
        return any(is_named(item, pattern) for pattern in patterns(item.left.names, self.subject))


def find_deployed(cloudformation: Any, stacks: Sequence[Item], subject: Subject) -> Deployed:
    """Read the resources of those of the environment's deployed stacks.

    Args:
        cloudformation: boto3 client.
        stacks: the environment's stacks, in whatever state.
        subject: the environment.

    Raises:
        ClientError: CloudFormation refuses.
    """
    names = tuple(stack.id for stack in stacks if not stack.facts["state"].startswith(_OVER))
    resources = [resource for name in names for resource in _resources(cloudformation, name)]
    ids = frozenset(resource["PhysicalResourceId"] for resource in resources if resource.get("PhysicalResourceId"))
    arns = frozenset(str(stack.facts["arn"]) for stack in stacks if stack.id in names)
    clusters = tuple(cluster for cluster in subject.clusters if cluster in ids or cluster in names)
    return Deployed(names, ids | arns, Subject(subject.environment, subject.region, names, clusters))


def _resources(cloudformation: Any, stack: str) -> Iterator[Mapping[str, Any]]:
    for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack):
        for resource in page["StackResourceSummaries"]:
            yield resource
            if resource["ResourceType"] == _NESTED and resource.get("PhysicalResourceId"):
                yield from _resources(cloudformation, resource["PhysicalResourceId"])
