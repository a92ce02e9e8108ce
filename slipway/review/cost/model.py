"""The cost of an environment, line by line, from dated list prices."""

from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict

HOURS_PER_DAY = 24
HOURS_PER_MONTH = 730
"""Hours of an average month, as AWS's own calculators count."""

Billing = Literal["priced", "by_use", "free", "unknown"]
"""`priced`: bills while it exists or runs, and the facts have its price. `by_use`: bills by requests, bytes or seconds
that nobody knows beforehand. `unknown`: it bills, but no price is known for it here."""


class CostLine(BaseModel):
    """One kind of thing that a resource brings."""

    model_config = ConfigDict(frozen=True)

    stack: str
    logical_id: str
    """The resource in the template that brings it."""

    resource_type: str
    what: str
    """In the reader's words, for example `head node, m6i.2xlarge`."""

    billing: Billing
    item: str | None = None
    """Name of the price row; None when nothing bills by the hour or by size."""

    unit_usd: float | None = None
    """List price of one unit."""

    unit: str | None = None
    idle_quantity: float = 0.0
    """How many units bill while the environment is idle."""

    peak_quantity: float = 0.0
    """How many units bill when everything that may run does."""

    idle_usd_per_hour: float | None = None
    """None when it bills by use or its price is unknown."""

    peak_usd_per_hour: float | None = None
    note: str | None = None
    """Why there is no price, or what is not in it."""


class Cost(BaseModel):
    """What an environment costs."""

    model_config = ConfigDict(frozen=True)

    region: str
    lines: tuple[CostLine, ...]
    prices_as_of: date | None
    """Date of the oldest price that is in it; None when nothing has a price."""

    free_types: dict[str, int] = {}
    """Resource types that cost nothing by themselves, with how many there are."""

    @property
    def idle_usd_per_hour(self) -> float:
        """Together, without the lines that have no price."""
        return sum(line.idle_usd_per_hour or 0.0 for line in self.lines)

    @property
    def peak_usd_per_hour(self) -> float:
        """Together, without the lines that have no price."""
        return sum(line.peak_usd_per_hour or 0.0 for line in self.lines)

    @property
    def unknown(self) -> tuple[CostLine, ...]:
        """What bills at a price that is not known here: the sums are without it."""
        return tuple(line for line in self.lines if line.billing == "unknown")
