"""The capacity reservations of the made-up account that judge and rehearsal put an environment into."""

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

_FILE = Path(__file__).with_suffix(".yaml")


class CapacityReservation(BaseModel):
    """A row of capacity_reservations.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """For example `cr-0123456789abcdef0`."""

    type: Literal["default", "capacity-block"]
    """`default`: On-Demand Capacity Reservation."""

    instance_type: str
    availability_zone_id: str

    instances: int
    """How many instances it holds."""

    resource_group: str | None = None
    """Name of the resource group of reservations that it belongs to."""

    placement_group: str | None = None
    """Name of the placement group that it was made in."""


def capacity_reservations() -> tuple[CapacityReservation, ...]:
    """Return all rows."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return TypeAdapter(tuple[CapacityReservation, ...]).validate_python(rows)
