"""The report of a rehearsal: the shape of report.json. docs/rehearsal.md describes it for readers."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from slipway.rehearse.ledger import Backing
from slipway.rehearse.leftovers import Leftover

PhaseOutcome = Literal["passed", "failed", "skipped", "interrupted"]
"""`skipped`: an earlier phase failed and this one could not prove anything any more."""

RunOutcome = Literal["passed", "failed", "interrupted"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class PhaseResult(_Part):
    """One phase of the run."""

    name: str
    """Short name, for example `deploy`."""

    title: str
    """What the phase does."""

    outcome: PhaseOutcome
    seconds: float
    """How long it took. The emulator's times say nothing about AWS."""

    detail: str
    """What was seen, or why it failed."""

    log: str | None
    """Log file, relative to the report; None for a phase without one."""


class StackResult(_Part):
    """One stack."""

    name: str
    origin: Literal["app", "bootstrap", "resource"]
    """Where it comes from: the app, `cdk bootstrap`, or a resource (nested stacks, ParallelCluster's own)."""

    created: int
    updated: int
    replaced: int
    deleted: int
    """How many resources were deleted, those that a rollback undid included."""

    outputs: dict[str, str]
    """Stack outputs after the first deployment; empty for a stack that is not the app's."""


class TypeResult(_Part):
    """All resources of one CloudFormation type."""

    type: str
    created: int
    backing: dict[Backing, int]
    """What stood behind them: an API object, the stack's own Lambda code, a nested stack, only a record."""


class Resource(_Part):
    """One resource of a stack."""

    stack: str
    logical_id: str
    type: str


class Failure(Resource):
    """A resource that failed."""

    reason: str
    """In the words of whoever refused it, cut to a readable length."""


class Unmapped(_Part):
    """Template properties of one type that the API call had no place for: they were not rehearsed."""

    type: str
    properties: tuple[str, ...]


class HeldBack(Resource):
    """A part of a template that was left out because the emulator's backend would misread it."""

    what: str
    why: str


class MotoPatch(_Part):
    """A place where the emulator's backend differs from AWS."""

    name: str
    why: str


class Seed(_Part):
    """Something that a real Region has and the emulator was given."""

    what: str
    why: str


class Denial(_Part):
    """A call that the policies of that moment did not allow."""

    principal: str
    """ARN of the user or role; a service's name where a role does not let it in."""

    action: str
    resource: str | None
    """Its ARN, or `*`. None when the call does not say which."""

    why: str
    fix: str
    """What to write, and where."""


class Permissions(_Part):
    """What IAM decided."""

    checks: int
    principals: int
    actions: int

    named: int
    """Checks of an action on a resource with its whole ARN."""

    any: int
    """Checks on `*`, or on any resource of a kind: the action has no other, or what it makes has no name yet."""

    action_only: int
    """Checks of the action alone: the call does not say on which resource."""

    denials: tuple[Denial, ...]
    """Each different one once."""

    tolerated: tuple[Denial, ...]
    """Refusals that the caller does without; `fix` says why."""

    unknown: tuple[str, ...]
    """Calls whose required permissions are unknown; one fails the run."""


class NotRehearsed(_Part):
    """Everything that this run proves nothing about, by name."""

    records: tuple[Resource, ...]
    """Resources with nothing behind them: they were only written down."""

    unmapped: tuple[Unmapped, ...]
    held_back: tuple[HeldBack, ...]
    deviations: tuple[MotoPatch, ...]

    ledger_only: tuple[str, ...]
    """Types that no list call of the inventory shows: that they are gone is the emulator's word alone."""

    limits: tuple[str, ...]
    """What no rehearsal can tell: the same list in every report."""


class Report(_Part):
    """The whole report."""

    format_version: Literal[1] = 1
    environment: str
    """Name of the environment."""

    environment_file: str
    region: str | None
    """None when the environment could not be synthesized."""

    started_at: datetime
    seconds: float
    outcome: RunOutcome
    verdict: str
    """The run in one sentence; the last line of the terminal report."""

    phases: tuple[PhaseResult, ...]
    stacks: tuple[StackResult, ...]
    types: tuple[TypeResult, ...]
    failures: tuple[Failure, ...]
    not_rehearsed: NotRehearsed
    seeds: tuple[Seed, ...]
    permissions: Permissions
    """The permission checks of the run; all figures are 0 if no call was made."""

    inventory: dict[str, int]
    """What the deployment added to the account, counted by kind through the AWS APIs."""

    leftovers: tuple[Leftover, ...]
    """What was left after `cdk destroy`, first what nobody documented."""
