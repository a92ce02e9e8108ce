"""What a search for leftovers found; `slipway leftovers --json` writes it as it is."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Verdict = Literal["clean", "found", "unknown"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class Leftover(_Model):
    """Something that is left."""

    kind: str
    """What it is, in AWS's words."""

    id: str
    """How AWS's API names it."""

    name: str
    """How people name it; often the same."""

    why: str
    """By what it is the environment's: a tag, a name, the VPC that it is in."""

    since: str | None
    """When it was made, if AWS says."""

    reason: str | None
    """Why it may stay, if somebody wrote that down; none: nobody did."""

    usd_per_month: float | None
    """List price in US dollars a month; none: not known."""

    cost: str
    """The same in words, with what it depends on when it is not known."""

    holds_data: bool
    """Whether users' data are in it: the command that removes it loses them for good."""

    def __str__(self) -> str:
        named = f" ({self.name})" if self.name != self.id else ""
        since = f", since {self.since}" if self.since else ""
        return f"{self.kind} {self.id}{named}: {self.cost}; {self.why}{since}"


class Shared(_Model):
    """Something that ParallelCluster keeps for all clusters of the account and Region: no environment's."""

    kind: str
    id: str
    reason: str
    """Why it stays."""


class NotLookedAt(_Model):
    """Something that AWS did not list: it may be there."""

    what: str
    why: str
    """AWS's words."""


class Findings(_Model):
    """What is left of one environment."""

    environment: str
    account: str
    region: str
    standing: tuple[str, ...]
    """Names of the environment's deployed stacks. What belongs to them is not a leftover, and is not listed."""

    leftovers: tuple[Leftover, ...]
    tagged_only: tuple[str, ...]
    """ARNs that the tag index alone knows: of kinds that Slipway does not look for."""

    shared: tuple[Shared, ...]
    existing: tuple[str, ...]
    """What the environment uses and does not own: it is no leftover, whatever its tags say."""

    not_looked_at: tuple[NotLookedAt, ...]
    commands: tuple[str, ...]
    """Commands of the AWS CLI that remove the leftovers, in an order that works."""

    @property
    def verdict(self) -> Verdict:
        """`clean`: nothing is left but what is documented and free; `unknown`: nothing else, as far as AWS answered."""
        if self.tagged_only or any(left.reason is None or left.usd_per_month != 0 for left in self.leftovers):
            return "found"
        return "unknown" if self.not_looked_at else "clean"

    @property
    def usd_per_month(self) -> float:
        """Sum of what is known."""
        return sum(left.usd_per_month or 0.0 for left in self.leftovers)

    @property
    def unpriced(self) -> int:
        """How many leftovers are not in the sum because their cost is not known."""
        return sum(left.usd_per_month is None for left in self.leftovers)
