"""The length of a deployment."""

from pydantic import BaseModel, ConfigDict


class Step(BaseModel):
    """One resource of the longest chain."""

    model_config = ConfigDict(frozen=True)

    stack: str
    logical_id: str
    type: str
    seconds: int
    is_known: bool
    """Whether the table of create times has its type."""


class DeployTime(BaseModel):
    """How long a deployment takes with `--concurrency 4`: its longest chain of resources that wait for each other."""

    model_config = ConfigDict(frozen=True)

    seconds: int
    chain: tuple[Step, ...]
    """The longest chain, first to last."""

    one_stack_after_another_seconds: int
    """The same without `--concurrency`."""

    without_estimate: tuple[str, ...] = ()
    """Resource types that have no create time in the table; they count a few seconds."""

    @property
    def waits_for(self) -> Step | None:
        """The resource that takes the largest part of the chain."""
        return max(self.chain, key=lambda step: step.seconds, default=None)
