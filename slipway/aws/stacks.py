"""CloudFormation stacks before, during and after their deletion."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import yaml
from botocore.exceptions import ClientError

NESTED_STACK = "AWS::CloudFormation::Stack"
LOG_GROUP = "AWS::Logs::LogGroup"


@dataclass(frozen=True)
class DeployedStack:
    """A stack that is not deleted.

    Attributes:
        name: its name.
        id: its ARN, by which CloudFormation knows it for 90 days after its deletion.
        status: such as `UPDATE_COMPLETE`.
        protected: whether termination protection is on.
        tags: its tags.
        outputs: its outputs.
        since: when it was created or last updated; None if not read.
    """

    name: str
    id: str
    status: str
    protected: bool
    tags: Mapping[str, str]
    outputs: Mapping[str, str] = field(default_factory=dict)
    since: datetime | None = None

    @property
    def is_being_deployed(self) -> bool:
        """Whether CloudFormation creates, changes or rolls it back at the moment; a mere review changes nothing."""
        return self.status.endswith("_IN_PROGRESS") and not self.status.startswith(("DELETE_", "REVIEW_"))


@dataclass(frozen=True)
class StackEvent:
    """One line of a stack's history.

    Attributes:
        id: by which the next look knows how far this one got.
        stack: name of the stack.
        logical_id: the resource; the stack's own name for the stack itself.
        type: for example `AWS::FSx::FileSystem`.
        physical_id: empty before the resource has one.
        status: such as `CREATE_COMPLETE`.
        reason: CloudFormation's sentence; empty when it has none.
        time: when.
        is_stack: whether it is about the stack itself.
    """

    id: str
    stack: str
    logical_id: str
    type: str
    physical_id: str
    status: str
    reason: str
    time: datetime
    is_stack: bool

    @property
    def is_failure(self) -> bool:
        """Whether a resource failed by itself: not the stack around it, and not because another one failed."""
        return self.status.endswith("_FAILED") and not self.is_stack and "cancelled" not in self.reason


@dataclass(frozen=True)
class SkippedResource:
    """A resource that CloudFormation left alone because of its deletion policy."""

    stack: str
    logical_id: str
    type: str
    physical_id: str


def find_stack(cloudformation: Any, name: str) -> Mapping[str, Any] | None:
    """Return CloudFormation's description of a stack, `None` when it is not deployed.

    Raises:
        ClientError, BotoCoreError: CloudFormation refuses, or does not answer.
    """
    try:
        found: Mapping[str, Any] = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if _is_missing(error):
            return None
        raise
    return found


def outputs(stack: Mapping[str, Any]) -> dict[str, str]:
    """Return the outputs of a stack that CloudFormation described."""
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def deployed_template(cloudformation: Any, name: str) -> dict[str, Any] | None:
    """Return the template that a stack was deployed with, `None` when it is not deployed.

    Raises:
        ClientError, BotoCoreError: CloudFormation refuses, or does not answer.
    """
    try:
        body: Any = cloudformation.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    except ClientError as error:
        if _is_missing(error):
            return None
        raise
    # boto3 parses JSON itself, into ordered mappings, and leaves YAML as text.
    template: dict[str, Any] = yaml.safe_load(body) if isinstance(body, str) else body
    return template


def _is_missing(error: ClientError) -> bool:
    """CloudFormation says with words alone that a stack does not exist: the code is `ValidationError` for all."""
    return "does not exist" in str(error)


def deployed_stacks(cloudformation: Any) -> dict[str, DeployedStack]:
    """Return the account's stacks in this Region by name, without nested ones."""
    return {
        stack["StackName"]: DeployedStack(
            name=stack["StackName"],
            id=stack["StackId"],
            status=stack["StackStatus"],
            protected=stack.get("EnableTerminationProtection", False),
            tags={tag["Key"]: tag["Value"] for tag in stack.get("Tags", [])},
            outputs=outputs(stack),
            since=stack.get("LastUpdatedTime") or stack.get("CreationTime"),
        )
        for page in cloudformation.get_paginator("describe_stacks").paginate()
        for stack in page["Stacks"]
        if "ParentId" not in stack and stack["StackStatus"] != "DELETE_COMPLETE"
    }


def physical_ids(cloudformation: Any, stack_id: str, resource_type: str) -> dict[str, str]:
    """Return the physical ids of a stack's resources of one type, by logical id."""
    pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack_id)
    return {
        resource["LogicalResourceId"]: resource["PhysicalResourceId"]
        for page in pages
        for resource in page["StackResourceSummaries"]
        if resource["ResourceType"] == resource_type and resource.get("PhysicalResourceId")
    }


def with_nested(cloudformation: Any, stack_ids: Iterable[str]) -> Iterator[str]:
    """Yield stacks and, after each, the stacks nested in it."""
    for stack_id in stack_ids:
        yield stack_id
        yield from with_nested(cloudformation, physical_ids(cloudformation, stack_id, NESTED_STACK).values())


def skipped_resources(cloudformation: Any, stack_ids: Iterable[str]) -> Iterator[SkippedResource]:
    """Yield what was left alone when these stacks were deleted or updated."""
    for stack_id in stack_ids:
        for event in _events(cloudformation, stack_id):
            if event["ResourceStatus"] == "DELETE_SKIPPED":
                yield SkippedResource(
                    event["StackName"], event["LogicalResourceId"], event["ResourceType"], event["PhysicalResourceId"]
                )


def failed_deletions(cloudformation: Any, stack_ids: Iterable[str]) -> Iterator[str]:
    """Yield one line for each resource that could not be deleted when its stack was deleted last."""
    for stack_id in stack_ids:
        for event in _events(cloudformation, stack_id):
            if event.get("PhysicalResourceId") == stack_id:
                if event["ResourceStatus"] == "DELETE_IN_PROGRESS":
                    break  # events come newest first: what is older was before this deletion
            elif event["ResourceStatus"] == "DELETE_FAILED":
                reason = event.get("ResourceStatusReason", "no reason given")
                yield f"{event['StackName']}/{event['LogicalResourceId']} ({event['ResourceType']}): {reason}"


def new_events(cloudformation: Any, stack_id: str, seen: str = "") -> list[StackEvent]:
    """Return a stack's events, oldest first.

    Args:
        cloudformation: boto3 client.
        stack_id: its ARN.
        seen: id of the newest event that is known already; all of them when empty.
    """
    found: list[StackEvent] = []
    for event in _events(cloudformation, stack_id):
        if event["EventId"] == seen:
            break
        found.append(
            StackEvent(
                id=event["EventId"],
                stack=event["StackName"],
                logical_id=event["LogicalResourceId"],
                type=event["ResourceType"],
                physical_id=event.get("PhysicalResourceId", ""),
                status=event["ResourceStatus"],
                reason=event.get("ResourceStatusReason", ""),
                time=event["Timestamp"],
                is_stack=event.get("PhysicalResourceId") == stack_id,
            )
        )
    return found[::-1]


def _events(cloudformation: Any, stack_id: str) -> Iterator[dict[str, Any]]:
    for page in cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack_id):
        yield from page["StackEvents"]
