"""The plan of an environment: all that its reviewer wants to know before anyone deploys it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from slipway.assembly.existing import TITLE
from slipway.review.changes.model import Changes
from slipway.review.cost.model import Cost
from slipway.review.deploy_time.model import DeployTime
from slipway.review.drift.model import Drift
from slipway.review.security.model import Security, SecurityDelta

Verdict = Literal["no_change", "can_update", "nodes_must_stop", "cannot_update", "not_known"]
"""What ParallelCluster's own update policies say of a change of the cluster. `not_known`: nobody could ask."""


class ClusterUpdate(BaseModel):
    """Whether ParallelCluster can make the change of the Slurm cluster."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    lines: tuple[str, ...] = ()
    """What the verdict rests on, a sentence each; why it is not known, if it is not."""


class Consequences(BaseModel):
    """What a part of a change causes."""

    model_config = ConfigDict(frozen=True)

    changes: Changes
    """Of what the whole change does: resources without their properties and notes, which the plan has."""

    idle_usd_per_hour: float | None
    """US dollars an hour more than before. None if a price is unknown."""

    peak_usd_per_hour: float | None
    deploy_seconds: int | None = None
    """Seconds to deploy it alone. None if it cannot be deployed alone."""

    cluster_update: Verdict | None = None
    """What ParallelCluster says of it, where that stops the deployment."""

    @property
    def is_empty(self) -> bool:
        """Whether it causes nothing."""
        costs_the_same = self.idle_usd_per_hour == 0 and self.peak_usd_per_hour == 0
        return self.changes.is_empty and costs_the_same and self.cluster_update is None


class ChangedLine(BaseModel):
    """A key of the environment file that is added, changed or removed."""

    model_config = ConfigDict(frozen=True)

    path: str
    """The key as a dotted path, for example `storage.lustre.capacity_gib`; items of lists by their names."""

    line: int
    """Line in the file, from 1; for a removed key, its line in the base."""

    before: Any
    """Old value. None if the key is new."""

    after: Any
    """New value. None if the key is removed."""

    causes: Consequences | None = None
    """What it causes as the only change. None if that is unknown: see `not_alone`."""

    not_alone: str | None = None
    """Why it cannot be the only change, a sentence: what the environment file's rules or the synth say."""


class ChangedLines(BaseModel):
    """Every changed line of an environment file."""

    model_config = ConfigDict(frozen=True)

    file: str
    """From the folder of the project."""

    lines: tuple[ChangedLine, ...]
    """In the order of the file; removed keys last."""

    other_files: Consequences | None = None
    """What other changed files cause, Slipway's code and facts included. None if nothing."""

    together: Consequences | None = None
    """What only the whole change causes. None if nothing, or unknown."""

    not_told_apart: str | None = None
    """Why no line has its consequences, a sentence."""


class Comparison(BaseModel):
    """What differs from the base."""

    model_config = ConfigDict(frozen=True)

    base: str
    """What the plan compares with: a Git revision or the folder of an assembly."""

    lines: ChangedLines | None = None
    """The environment file's changed lines. None without any, or if two assemblies are compared."""

    changes: Changes
    notes: tuple[str, ...] = ()
    """What to know about the base before reading the comparison, a sentence each."""

    cluster_update: ClusterUpdate | None
    """None when not both sides have a Slurm cluster: there is none to update."""

    cost: Cost
    """The cost of the base."""

    security: SecurityDelta
    deploy_time: DeployTime
    """Of this change: resources that are added, replaced or updated."""


class Plan(BaseModel):
    """The plan of one environment."""

    model_config = ConfigDict(frozen=True)

    format_version: Literal[1] = 1
    """Of the JSON: it grows by one when a field goes or gets another meaning, not when one is added."""

    environment: str
    region: str
    head: str
    """What is planned: a Git revision with what is not committed, or the folder of an assembly."""

    cost: Cost
    security: Security
    deploy_time: DeployTime
    """Of the first deployment, of everything."""

    comparison: Comparison | None = None
    """None when there is nothing to compare with."""

    existing: tuple[str, ...] = ()
    """What the environment uses and does not own: no deployment changes it, no destruction deletes it."""

    not_compared: str | None = None
    """Why there is no comparison though one was asked for, a sentence."""

    drift: Drift | None = None
    """What was changed outside of CloudFormation. None if nobody asked."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before reading on, a sentence each."""
        stays = (f"{TITLE}: {', '.join(self.existing)}.",) if self.existing else ()
        if self.comparison:
            return (*self.comparison.notes, *stays)
        return (self.not_compared, *stays) if self.not_compared else stays
