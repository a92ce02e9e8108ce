"""What ParallelCluster's side answers the front end: the answer and its JSON form."""

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How serious a finding is, in ParallelCluster's words."""

    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Finding:
    """One sentence about the configuration."""

    level: Level
    source: str
    """Who says it: a validator of ParallelCluster, or a check of the judge's own."""

    message: str


@dataclass(frozen=True)
class MotoPatch:
    """A difference between moto and AWS that was bridged."""

    name: str
    why: str


@dataclass
class Outcome:
    """How far ParallelCluster came with a configuration."""

    findings: list[Finding] = field(default_factory=list)
    schema_passed: bool = False
    validators_passed: bool = False
    validations: int = 0
    """How many validators ran, each as often as it was applied."""

    template_resources: int = 0
    template_bytes: int = 0
    """Size of the cluster's template without white space. CloudFormation accepts 1,000,000 bytes from S3."""

    launch_templates: dict[str, Any] = field(default_factory=dict)
    """`LaunchTemplateData` of the compute nodes, by `queue/compute resource`; without user data."""

    configuration: dict[str, Any] = field(default_factory=dict)
    """The cluster's configuration with all defaults, as the head node reads it."""

    instance_types: dict[str, Any] = field(default_factory=dict)
    """What EC2 says of each instance type of the nodes, as the head node reads it."""

    resource_types: dict[str, int] = field(default_factory=dict)
    """How many resources of each type the cluster's stack and those that it nests have."""

    node_policies: dict[str, list[Any]] = field(default_factory=dict)
    """Statements of the policies that ParallelCluster gives to its roles, by the role's logical id."""

    node_images: list[str] = field(default_factory=list)
    """Ids of the node images that `pcluster build-image` would build."""

    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """All that one run found."""

    parallelcluster: str
    """Version of aws-parallelcluster that judged."""

    deviations: list[MotoPatch]
    outcome: Outcome

    def to_json(self) -> str:
        """Write the answer as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Answer":
        """Read what `to_json` wrote."""
        stored = json.loads(text)
        outcome = stored["outcome"]
        outcome["findings"] = [
            Finding(Level(row["level"]), row["source"], row["message"]) for row in outcome["findings"]
        ]
        deviations = [MotoPatch(**row) for row in stored["deviations"]]
        return cls(stored["parallelcluster"], deviations, Outcome(**outcome))
