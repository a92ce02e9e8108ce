"""The answer of `slipway status`; its JSON has these names."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True)


class StackRow(_Row):
    """A stack."""

    name: str
    status: str
    """CloudFormation's stack status, for example `UPDATE_COMPLETE`."""

    since: datetime | None
    """When it was created or last updated."""

    @property
    def is_bad(self) -> bool:
        """Whether it needs attention: it failed, or an update was rolled back."""
        return "FAILED" in self.status or "ROLLBACK" in self.status


class NodeRow(_Row):
    """EC2 instances of one kind."""

    group: str
    """`head node`, `queue trn1`, `node group trn1`, `hosts of small-llama` and the like."""

    instance_type: str
    state: str
    """EC2's instance state, for example `running`."""

    count: int


class JobRow(_Row):
    """A job in Slurm's queue."""

    id: str
    name: str
    user: str
    state: str
    elapsed: str
    """In Slurm's format (`1-02:03:04`)."""


class ModelRow(_Row):
    """A model of the endpoint."""

    name: str
    served: str | None
    """Folder of the served version; None before the first roll-out."""

    candidate: str | None = None
    """Folder of the version that gets a part of the requests."""

    percent: int = 0
    """Share of the requests that the candidate gets, in percent."""

    tasks: int | None = None
    """Running tasks; None for a model with a fixed `prefix`."""

    wanted: int | None = None
    """Desired tasks."""


class Spend(_Row):
    """Spend of this month. AWS Budgets updates it a few times a day."""

    usd: float
    budget_usd: float


class Status(_Row):
    """An environment."""

    environment: str
    account: str
    region: str
    stacks: tuple[StackRow, ...] = ()
    """Empty if it is not deployed."""

    nodes: tuple[NodeRow, ...] = ()
    jobs: tuple[JobRow, ...] = ()
    models: tuple[ModelRow, ...] = ()
    spend: Spend | None = None
    """None if there is no budget."""

    alarms: tuple[str, ...] = ()
    """Names of the alarms in state ALARM."""

    links: dict[str, str] = {}
    unknown: dict[str, str] = {}
    """Part, for example `jobs` -> why it could not be read."""

    @property
    def needs_attention(self) -> bool:
        """Whether it is not deployed, a stack failed, or an alarm is on."""
        return not self.stacks or any(stack.is_bad for stack in self.stacks) or bool(self.alarms)
