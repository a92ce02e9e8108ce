"""Stacks, events and change sets in the form of CloudFormation's answers."""

from typing import Any

from slipway_emulator.stacks.change_sets import ChangeSet
from slipway_emulator.stacks.changes import Change
from slipway_emulator.stacks.model import Event, Output, ProvisionedResource, Stack


def stack_view(stack: Stack) -> dict[str, Any]:
    """A stack as DescribeStacks shows it."""
    return {
        "StackId": stack.id,
        "StackName": stack.name,
        "Description": stack.state.template.document.get("Description"),
        "CreationTime": stack.created_at,
        "LastUpdatedTime": stack.updated_at,
        "StackStatus": stack.status,
        "StackStatusReason": stack.reason or None,
        "DisableRollback": False,
        "EnableTerminationProtection": stack.termination_protection,
        "ParentId": stack.parent_id,
        "Capabilities": [],
        "NotificationARNs": [],
        "Parameters": _parameters(stack),
        "Outputs": [output_view(output) for output in stack.state.outputs],
        "Tags": list(stack.state.tags),
    }


def _parameters(stack: Stack) -> list[dict[str, Any]]:
    declared = stack.state.template.section("Parameters")
    views = []
    for name, rule in declared.items():
        value = stack.state.parameters.get(name, rule.get("Default", ""))
        view = {"ParameterKey": name, "ParameterValue": "****" if _is_hidden(rule) else str(value)}
        if str(rule.get("Type", "")).startswith("AWS::SSM::Parameter::Value<"):
            resolved = stack.state.resolved_parameters.get(name, "")
            view["ResolvedValue"] = ",".join(resolved) if isinstance(resolved, list) else str(resolved)
        views.append(view)
    return views


def _is_hidden(rule: Any) -> bool:
    return str(rule.get("NoEcho", "")).lower() == "true"


def output_view(output: Output) -> dict[str, Any]:
    """An output as DescribeStacks shows it."""
    return {
        "OutputKey": output.key,
        "OutputValue": output.value,
        "Description": output.description,
        "ExportName": output.export_name,
    }


def summary_view(stack: Stack) -> dict[str, Any]:
    """A stack as ListStacks shows it."""
    return {
        "StackId": stack.id,
        "StackName": stack.name,
        "CreationTime": stack.created_at,
        "LastUpdatedTime": stack.updated_at,
        "StackStatus": stack.status,
        "ParentId": stack.parent_id,
    }


def event_view(stack: Stack, event: Event) -> dict[str, Any]:
    """A line of a stack's history as DescribeStackEvents shows it."""
    return {
        "StackId": stack.id,
        "StackName": stack.name,
        "EventId": event.id,
        "LogicalResourceId": event.logical_id,
        "PhysicalResourceId": event.physical_id,
        "ResourceType": event.resource_type,
        "Timestamp": event.time,
        "ResourceStatus": event.status,
        "ResourceStatusReason": event.reason or None,
    }


def resource_view(stack: Stack, resource: ProvisionedResource) -> dict[str, Any]:
    """A resource as the describing and listing actions show it; each takes the members it knows."""
    return {
        "StackId": stack.id,
        "StackName": stack.name,
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id,
        "ResourceType": resource.resource_type,
        "ResourceStatus": resource.status,
        "Timestamp": resource.changed_at,
        "LastUpdatedTimestamp": resource.changed_at,
    }


def change_set_view(change_set: ChangeSet) -> dict[str, Any]:
    """A change set as DescribeChangeSet shows it."""
    return {
        **change_set_summary(change_set),
        "Parameters": [
            {"ParameterKey": name, "ParameterValue": value} for name, value in change_set.submission.parameters.items()
        ],
        "NotificationARNs": [],
        "Capabilities": [],
        "Tags": list(change_set.submission.tags),
        "Changes": [{"Type": "Resource", "ResourceChange": _change_view(change)} for change in change_set.changes],
    }


def change_set_summary(change_set: ChangeSet) -> dict[str, Any]:
    """A change set as ListChangeSets shows it."""
    return {
        "ChangeSetName": change_set.name,
        "ChangeSetId": change_set.id,
        "StackId": change_set.stack.id,
        "StackName": change_set.stack.name,
        "Description": change_set.description,
        "CreationTime": change_set.created_at,
        "Status": "FAILED" if change_set.failure else "CREATE_COMPLETE",
        "StatusReason": change_set.failure or None,
        "ExecutionStatus": "UNAVAILABLE" if change_set.failure else "AVAILABLE",
    }


def _change_view(change: Change) -> dict[str, Any]:
    view: dict[str, Any] = {
        "Action": change.action,
        "LogicalResourceId": change.logical_id,
        "PhysicalResourceId": change.physical_id,
        "ResourceType": change.resource_type,
        "Scope": [],
        "Details": [],
    }
    if change.action == "Modify":
        view["Replacement"] = "True" if change.replacement else "False"
        view["Scope"] = ["Properties"]
        view["Details"] = [
            {
                "Target": {
                    "Attribute": "Properties",
                    "Name": name,
                    "RequiresRecreation": "Always" if name in change.replacing else "Never",
                },
                "Evaluation": "Static",
                "ChangeSource": "DirectModification",
            }
            for name in change.properties
        ]
    return view
