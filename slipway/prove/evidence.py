"""What a proof found, for people and programs: a dated file without ids of the account."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from slipway.review.report.wording import usd

Outcome = Literal["passed", "failed", "out_of_time", "not_tried"]
"""`out_of_time`: ended at its limit or at the ceiling. `not_tried`: an earlier one failed, or no time was left."""


class Tried(BaseModel):
    """One probe."""

    model_config = ConfigDict(frozen=True)

    probe: str
    proves: tuple[str, ...]
    """Lines of "Not proven" in docs/proven.md."""

    outcome: Outcome
    seconds: int = 0
    exit_code: int | None = None
    """Of the command that ended it; None if none did."""


class Evidence(BaseModel):
    """One proof."""

    model_config = ConfigDict(frozen=True)

    format_version: Literal[1] = 1
    environment: str
    region: str
    slipway: str
    """Version."""

    started: datetime
    ended: datetime
    ceiling_usd: float
    spent_usd: float
    """At most, by list prices."""

    tried: tuple[Tried, ...]
    is_stopped: bool = False
    """Whether somebody stopped it."""

    is_deleted: bool
    """Whether the environment is gone, and the deadline with it."""

    def lines(self) -> Iterator[str]:
        """Yield it for people."""
        for one in self.tried:
            yield f"{one.outcome.replace('_', ' '):12} {one.seconds:6} s  {one.probe}"
        gone = "everything is deleted" if self.is_deleted else "NOT everything is deleted"
        yield f"{gone}; {usd(self.spent_usd)} at most, by list prices"

    @property
    def is_complete(self) -> bool:
        """Whether all that was to be tried passed, and nothing is left."""
        return self.is_deleted and not self.is_stopped and all(one.outcome == "passed" for one in self.tried)
