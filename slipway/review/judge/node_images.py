"""The baked node images of the made-up account that the judge puts an environment into."""

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

_FILE = Path(__file__).with_suffix(".yaml")


class NodeImage(BaseModel):
    """A row of node_images.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """For example `ami-0123456789abcdef0`."""

    operating_system: str
    """ParallelCluster's name of the operating system, which `pcluster build-image` writes into a tag."""

    parallelcluster_version: str
    """Release of ParallelCluster that built it."""


def node_images() -> tuple[NodeImage, ...]:
    """Return all rows."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return TypeAdapter(tuple[NodeImage, ...]).validate_python(rows)
