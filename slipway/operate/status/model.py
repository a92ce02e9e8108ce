"""The answer of `slipway status`; its JSON has these names."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True)


class StackRow(_Row):
    """A stack."""

    name: str
    status: str
    """CloudFormation's word, for example `UPDATE_COMPLETE`."""

    since: datetime | None
    """When it was made, or changed last."""

    @property
    def is_bad(self) -> bool:
        """Whether somebody must do something about it; a rolled-back update leaves it as it was, but not as wanted."""
        return "FAILED" in self.status or "ROLLBACK" in self.status


class NodeRow(_Row):
    """EC2 instances of one kind."""

    group: str
    """`head node`, `queue trn1`, `node group trn1`, `hosts of small-llama` and the like."""

    instance_type: str
    state: str
    """EC2's word, for example `running`."""

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
    """Folder of the served version; none before the first roll-out."""

    candidate: str | None = None
    """Folder of the version that gets a part of the requests."""

    percent: int = 0
    """How many of a hundred requests the candidate gets."""

    tasks: int | None = None
    """Tasks that run; none for a model that is not rolled out."""

    wanted: int | None = None
    """Tasks that shall run."""


class Spend(_Row):
    """What was spent this month, as AWS Budgets last counted: a few times a day."""

    usd: float
    budget_usd: float


class Status(_Row):
    """An environment."""

    environment: str
    account: str
    region: str
    stacks: tuple[StackRow, ...] = ()
    """Empty when it is not deployed."""

    nodes: tuple[NodeRow, ...] = ()
    jobs: tuple[JobRow, ...] = ()
    models: tuple[ModelRow, ...] = ()
    spend: Spend | None = None
    """None without a budget."""

    alarms: tuple[str, ...] = ()
    """Names of those that are on."""

    links: dict[str, str] = {}
    unknown: dict[str, str] = {}
    """Part, for example `jobs` -> why nobody knows."""

    @property
    def needs_attention(self) -> bool:
        """Whether it is not deployed, a stack failed, or an alarm is on."""
        return not self.stacks or any(stack.is_bad for stack in self.stacks) or bool(self.alarms)
