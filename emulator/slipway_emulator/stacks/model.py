"""What a stack is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from slipway_emulator.failures import ProvisioningError
from slipway_emulator.ledger import Backing
from slipway_emulator.permissions.acting import ADMINISTRATOR
from slipway_emulator.resources.catalogue import is_custom
from slipway_emulator.settings import ACCOUNT, PARTITION
from slipway_emulator.template.document import EMPTY_TEMPLATE, Template
from slipway_emulator.template.intrinsics import StackIdentity

STACK_TYPE = "AWS::CloudFormation::Stack"
_EVENT_DISTANCE = timedelta(milliseconds=1)
_LONGEST_REASON = 1000  # characters; CloudFormation cuts longer status reasons as well


def now() -> datetime:
    """The current time as CloudFormation's answers carry it."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class ProvisionedResource:
    """A resource that exists.

    Attributes:
        properties: As the template resolved to them, dynamic references (secrets) not looked up.
        attributes: What Fn::GetAtt can read.
        status: Such as ``CREATE_COMPLETE``.
    """

    logical_id: str
    resource_type: str
    physical_id: str
    properties: Mapping[str, Any]
    attributes: Mapping[str, Any]
    backing: Backing
    status: str
    changed_at: datetime = field(default_factory=now)

    def attribute(self, name: str) -> Any:
        """The value of Fn::GetAtt.

        Raises:
            ProvisioningError: There is no such attribute.
        """
        if name in self.attributes:
            return self.attributes[name]
        if is_custom(self.resource_type):
            raise ProvisioningError(
                "CustomResource attribute error: Vendor response doesn't contain"
                f" {name} key in object {self.logical_id}"
            )
        known = ", ".join(sorted(self.attributes)) or "none"
        raise ProvisioningError(
            f"{self.logical_id}: {self.resource_type} has no attribute {name} in the emulator (it has: {known})"
        )


@dataclass(frozen=True)
class Event:
    """One line of a stack's history."""

    logical_id: str
    resource_type: str
    status: str
    reason: str
    physical_id: str
    id: str = field(default_factory=lambda: str(uuid4()))
    time: datetime = field(default_factory=now)


@dataclass(frozen=True)
class Output:
    """A stack output with its value."""

    key: str
    value: str
    description: str | None
    export_name: str | None


@dataclass(frozen=True)
class Submission:
    """What a client hands in to create or update a stack."""

    template: Template
    parameters: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True)
class StackState:
    """What an operation replaces as a whole and a rollback puts back.

    Attributes:
        read_outputs: Values of other stacks' outputs, by stack name, output name and region.
    """

    template: Template = EMPTY_TEMPLATE
    parameters: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[Mapping[str, str], ...] = ()
    outputs: tuple[Output, ...] = ()
    imports: frozenset[str] = frozenset()
    resolved_parameters: Mapping[str, Any] = field(default_factory=dict)
    read_outputs: Mapping[tuple[str, str, str], str] = field(default_factory=dict)


@dataclass(eq=False)
class Stack:
    """A stack and its history.

    Attributes:
        role: ARN of the role, or of the user, that its operations run as.
        has_own_role: whether a request named that role; else it is the caller's.
    """

    identity: StackIdentity
    parent_id: str | None = None
    status: str = "REVIEW_IN_PROGRESS"
    reason: str = ""
    state: StackState = field(default_factory=StackState)
    resources: dict[str, ProvisionedResource] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    termination_protection: bool = False
    role: str = ADMINISTRATOR
    has_own_role: bool = False
    created_at: datetime = field(default_factory=now)
    updated_at: datetime | None = None

    @classmethod
    def named(cls, name: str, region: str, parent_id: str | None = None) -> "Stack":
        """A new stack with an id of its own."""
        stack_id = f"arn:{PARTITION}:cloudformation:{region}:{ACCOUNT}:stack/{name}/{uuid4()}"
        return cls(StackIdentity(name, stack_id, region), parent_id)

    @property
    def name(self) -> str:
        """The stack's name."""
        return self.identity.name

    @property
    def id(self) -> str:
        """The stack's ARN."""
        return self.identity.id

    @property
    def region(self) -> str:
        """The region the stack lives in."""
        return self.identity.region

    @property
    def deleted(self) -> bool:
        """Whether only the history is left."""
        return self.status == "DELETE_COMPLETE"

    def add_event(
        self, logical_id: str, resource_type: str, status: str, reason: str = "", physical_id: str = ""
    ) -> None:
        """Write a line of history, later than the one before: clients order events by their milliseconds."""
        event = Event(logical_id, resource_type, status, reason[:_LONGEST_REASON], physical_id)
        if self.events and event.time - self.events[-1].time < _EVENT_DISTANCE:
            event = replace(event, time=self.events[-1].time + _EVENT_DISTANCE)
        self.events.append(event)

    def enter(self, status: str, reason: str = "") -> None:
        """Change the stack's status; the event comes first, since clients stop reading at a final status."""
        self.add_event(self.name, STACK_TYPE, status, reason, self.id)
        self.reason = reason[:_LONGEST_REASON]
        self.status = status
