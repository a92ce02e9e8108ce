"""Assemblies with just the resources that a test is about."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slipway.check.preflight.needs import Needs, read_needs
from tests.check.preflight.aws import REGION

ENVIRONMENT = "tiny"

OTHERS: Mapping[str, Any] = {
    "Hosts": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"KeyName": "operators"}}},
    "Task": {
        "Type": "AWS::ECS::TaskDefinition",
        "Properties": {
            "ContainerDefinitions": [{"Image": f"123456789012.dkr.ecr.{REGION}.amazonaws.com/engine:1.0"}],
        },
    },
}
"""Resources that checks look at and that no shipped environment has."""


def standing_stack(name: str, status: str = "CREATE_COMPLETE", *, environment: str = ENVIRONMENT) -> Mapping[str, Any]:
    """Answer of cloudformation.DescribeStacks: one stack, tagged as an environment's."""
    return {
        "Stacks": [
            {
                "StackName": name,
                "StackStatus": status,
                "CreationTime": datetime(2026, 11, 1, tzinfo=UTC),
                "Tags": [{"Key": "slipway:environment", "Value": environment}],
            }
        ]
    }


def resources_of_stack(ids: Mapping[str, str], status: str = "CREATE_COMPLETE") -> Mapping[str, Any]:
    """Answer of cloudformation.ListStackResources: physical ids with their types."""
    summaries = [
        {
            "LogicalResourceId": f"R{number}",
            "PhysicalResourceId": physical_id,
            "ResourceType": resource_type,
            "LastUpdatedTimestamp": datetime(2026, 11, 1, tzinfo=UTC),
            "ResourceStatus": status,
        }
        for number, (physical_id, resource_type) in enumerate(ids.items())
    ]
    return {"StackResourceSummaries": summaries}


def handmade(folder: Path, resources: Mapping[str, Any], *, role: str = "training") -> Needs:
    """Return what an environment of one stack with these resources needs.

    Args:
        folder: where its assembly is written.
        resources: the resources of the template by logical id.
        role: last part of the stack's name.
    """
    name = f"slipway-{ENVIRONMENT}-{role}"
    (folder / "template.json").write_text(json.dumps({"Resources": resources}), encoding="utf-8")
    artifact = {
        "type": "aws:cloudformation:stack",
        "environment": f"aws://unknown-account/{REGION}",
        "properties": {"templateFile": "template.json", "tags": {"slipway:environment": ENVIRONMENT}},
    }
    (folder / "manifest.json").write_text(json.dumps({"artifacts": {name: artifact}}), encoding="utf-8")
    return read_needs(folder)
