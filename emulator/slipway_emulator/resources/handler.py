"""What the stack operations ask of a resource type."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from slipway_emulator.ledger import Backing
from slipway_emulator.template.intrinsics import StackIdentity


@dataclass(frozen=True)
class Request:
    """A resource as the template wants it.

    Attributes:
        properties: Resolved, dynamic references looked up: ready for an API call.
    """

    stack: StackIdentity
    logical_id: str
    resource_type: str
    properties: Mapping[str, Any]

    def generated_name(self, longest: int, *, lower_case: bool = False) -> str:
        """A physical name as CloudFormation makes them: stack, logical id, 12 random characters."""
        random_part = uuid4().hex[:12].upper()
        name = f"{self.stack.name}-{self.logical_id}"[: longest - len(random_part) - 1] + f"-{random_part}"
        return name.lower() if lower_case else name


@dataclass(frozen=True)
class Existing:
    """A resource that is to be updated or deleted.

    Its properties still carry their dynamic references: a secret may be gone by the time its user is deleted.
    """

    physical_id: str
    properties: Mapping[str, Any]
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Provisioned:
    """The result of a creation or an update.

    Attributes:
        unmapped: Paths of template properties that have no home in the API call.
    """

    physical_id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    unmapped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """What a deleted resource leaves behind when its policy is Snapshot.

    Attributes:
        resource_type: CloudFormation's name of what it is.
    """

    resource_type: str
    physical_id: str


class ResourceHandler(Protocol):
    """Provisions one resource type. Every method raises ProvisioningError when AWS would refuse."""

    backing: Backing

    def create(self, request: Request) -> Provisioned:
        """Create the resource; raises UnfinishedCreationError when a part of it is left."""
        ...

    def can_update(self, changed: frozenset[str]) -> bool:
        """Whether a change of these top-level properties can be made in place."""
        ...

    def update(self, request: Request, existing: Existing, changed: frozenset[str]) -> Provisioned:
        """Bring the changed properties to what is requested; may answer a new physical id."""
        ...

    def delete(self, request: Request, existing: Existing) -> None:
        """Delete the resource; one that is already gone counts as deleted."""
        ...


@runtime_checkable
class SnapshotTaker(Protocol):
    """Also implemented by handlers of types that support the policy Snapshot."""

    def take_snapshot(self, request: Request, existing: Existing) -> Snapshot:
        """Copy what the resource holds; raises ProvisioningError when AWS would refuse."""
        ...
