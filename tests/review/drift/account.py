"""An account whose stacks were changed by hand: CloudFormation's answers, which botocore's service model checks."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.check.preflight.aws import ACCOUNT_ID, REGION, Aws, Refusal

NOW = datetime(2026, 11, 28, tzinfo=UTC)
Properties = Mapping[str, Any]


def stack_id(name: str) -> str:
    return f"arn:aws:cloudformation:{REGION}:{ACCOUNT_ID}:stack/{name}/0c5a1c90-6d1e-11f0-9d3a-0a1b2c3d4e5f"


@dataclass(frozen=True)
class Changed:
    """A resource with its properties as deployed and as they are; None if it was deleted."""

    stack: str
    logical_id: str
    type: str
    deployed: Properties
    actual: Properties | None

    def row(self) -> dict[str, Any]:
        """Return CloudFormation's row (API reference, StackResourceDrift)."""
        row = {
            "StackId": stack_id(self.stack),
            "LogicalResourceId": self.logical_id,
            "PhysicalResourceId": f"{self.logical_id}-1",
            "ResourceType": self.type,
            "ExpectedProperties": json.dumps(self.deployed),
            "StackResourceDriftStatus": "DELETED" if self.actual is None else "MODIFIED",
            "Timestamp": NOW,
        }
        if self.actual is None:
            return row
        names = [name for name in {**self.deployed, **self.actual} if self.deployed.get(name) != self.actual.get(name)]
        return {
            **row,
            "ActualProperties": json.dumps(self.actual),
            "PropertyDifferences": [self._difference(name, self.actual) for name in names],
        }

    def _difference(self, name: str, actual: Properties) -> dict[str, str]:
        kind = "ADD" if name not in self.deployed else "REMOVE" if name not in actual else "NOT_EQUAL"
        before, after = (_text(side[name]) if name in side else "null" for side in (self.deployed, actual))
        return {"PropertyPath": f"/{name}", "ExpectedValue": before, "ActualValue": after, "DifferenceType": kind}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@dataclass
class Stacks:
    """What CloudFormation answers about stacks.

    Attributes:
        changed: what was changed in them.
        nested: stacks nested in others, by the outer one's name.
        looks: how often a comparison is asked for before it ends.
        refused: stacks that cannot be compared.
        failed: stacks of which something could not be read.
        page: rows on a page.
    """

    changed: Sequence[Changed] = ()
    nested: Mapping[str, str] = field(default_factory=dict)
    looks: int = 1
    refused: Sequence[str] = ()
    failed: Sequence[str] = ()
    page: int = 100
    _asked: dict[str, int] = field(default_factory=dict)

    def aws(self) -> Aws:
        """Return the account."""
        return Aws(
            {
                "cloudformation.ListStackResources": self._resources,
                "cloudformation.DetectStackDrift": self._detect,
                "cloudformation.DescribeStackDriftDetectionStatus": self._status,
                "cloudformation.DescribeStackResourceDrifts": self._drifts,
            }
        )

    def _resources(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        inner = self.nested.get(asked["StackName"].split("/")[1])
        rows = [
            {
                "LogicalResourceId": "Provider",
                "PhysicalResourceId": stack_id(inner or ""),
                "ResourceType": "AWS::CloudFormation::Stack",
                "ResourceStatus": "CREATE_COMPLETE",
                "LastUpdatedTimestamp": NOW,
            }
        ]
        return {"StackResourceSummaries": rows if inner else []}

    def _detect(self, asked: Mapping[str, Any]) -> dict[str, Any] | Refusal:
        name = asked["StackName"].split("/")[1]
        if name in self.refused:
            return Refusal("ValidationError", f"{name} is in UPDATE_IN_PROGRESS state")
        return {"StackDriftDetectionId": f"detection-of-{name}"}

    def _status(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        name = asked["StackDriftDetectionId"].removeprefix("detection-of-")
        self._asked[name] = self._asked.get(name, 0) + 1
        answer = {
            "StackId": stack_id(name),
            "StackDriftDetectionId": asked["StackDriftDetectionId"],
            "DetectionStatus": "DETECTION_IN_PROGRESS",
            "Timestamp": NOW,
        }
        if self._asked[name] < self.looks:
            return answer
        if name in self.failed:
            return {**answer, "DetectionStatus": "DETECTION_FAILED", "DetectionStatusReason": "Failed to read Bucket"}
        return {**answer, "DetectionStatus": "DETECTION_COMPLETE"}

    def _drifts(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        assert list(asked["StackResourceDriftStatusFilters"]) == ["MODIFIED", "DELETED"]
        name, start = asked["StackName"].split("/")[1], int(asked.get("NextToken", 0))
        rows = [one.row() for one in self.changed if one.stack == name]
        more = {"NextToken": str(start + self.page)} if start + self.page < len(rows) else {}
        return {"StackResourceDrifts": rows[start : start + self.page], **more}
