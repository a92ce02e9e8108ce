"""The baked node images of the made-up account that the judge puts an environment into."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from slipway.assembly.existing import IMAGE

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


def images_of_account(existing: Iterable[Mapping[str, Any]]) -> tuple[NodeImage, ...]:
    """Return the rows, and the images that an environment names: only their owner's account knows whether they fit.

    Args:
        existing: what the environment uses and does not own, as `slipway.assembly.existing.ExistingResource` has it.
    """
    rows = {image.id: image for image in node_images()}
    named = {row["id"]: row["facts"] for row in existing if row["kind"] == IMAGE}
    fitting = {
        id_: NodeImage(id=id_, operating_system=facts["os"], parallelcluster_version=facts["version"])
        for id_, facts in named.items()
    }
    return tuple((fitting | rows).values())
