"""What may be left after an environment was destroyed: the rows of documented_leftovers.yaml.

The rehearsal fails on anything else, and `slipway destroy` names these before and after it destroys.
"""

from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

_ROWS = Path(__file__).with_name("documented_leftovers.yaml")


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: str
    """Why it stays."""

    source: str
    """Where that is documented."""


class DocumentedLeftover(_Row):
    """Names of one kind that are known to stay."""

    kind: str
    """What it is, in the words of the rehearsal's inventory."""

    name: str
    """Shell-style pattern of the names."""

    left_by: Literal["CDK bootstrap", "slipway deploy-role", "ParallelCluster", "a Slurm cluster", "FSx", "EBS"]
    """Who made it. The bootstrap serves the whole account, and so does what ParallelCluster leaves; a cluster's own
    leftovers go with `slipway destroy`, but not with `cdk destroy`."""


class Rules(BaseModel):
    """All rows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    documented: tuple[DocumentedLeftover, ...]


@cache
def rules() -> Rules:
    """Return the rows of documented_leftovers.yaml."""
    return Rules.model_validate(yaml.safe_load(_ROWS.read_text(encoding="utf-8")))
