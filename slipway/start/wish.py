"""What a user wants of a new repository."""

from dataclasses import dataclass
from typing import Literal

Size = Literal["small", "default", "team", "ultracluster"]
"""Each is a shipped environment."""

Orchestrator = Literal["slurm", "kubernetes"]


@dataclass(frozen=True)
class Wish:
    """What a user wants.

    Attributes:
        name: of the environment; lower-case letters, digits and hyphens, 20 at most.
        size: one of `Size`.
        region: AWS Region.
        orchestrator: `slurm` or `kubernetes`, which has one size, `default`.
        endpoint: whether it serves models.
    """

    name: str
    size: str
    region: str
    orchestrator: str
    endpoint: bool
