"""The plan of an environment: all that its reviewer wants to know before anyone deploys it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from slipway.assembly.existing import TITLE
from slipway.review.changes.model import Changes
from slipway.review.cost.model import Cost
from slipway.review.deploy_time.model import DeployTime
from slipway.review.security.model import Security, SecurityDelta

Verdict = Literal["no_change", "can_update", "nodes_must_stop", "cannot_update", "not_known"]
"""What ParallelCluster's own update policies say of a change of the cluster. `not_known`: nobody could ask."""


class ClusterUpdate(BaseModel):
    """Whether ParallelCluster can make the change of the Slurm cluster."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    lines: tuple[str, ...] = ()
    """What the verdict rests on, a sentence each; why it is not known, if it is not."""


class Comparison(BaseModel):
    """What differs from the base."""

    model_config = ConfigDict(frozen=True)

    base: str
    """What the plan compares with: a Git revision or the folder of an assembly."""

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

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before reading on, a sentence each."""
        stays = (f"{TITLE}: {', '.join(self.existing)}.",) if self.existing else ()
        if self.comparison:
            return (*self.comparison.notes, *stays)
        return (self.not_compared, *stays) if self.not_compared else stays
