"""One resource at a time: calls its handler, writes the stack's events and the ledger."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slipway_emulator.failures import ProvisioningError, UnfinishedCreationError
from slipway_emulator.faults import Faults, Moment
from slipway_emulator.ledger import Action, Ledger
from slipway_emulator.resources.catalogue import Catalogue
from slipway_emulator.resources.handler import Existing, Provisioned, Request, SnapshotTaker
from slipway_emulator.stacks.model import ProvisionedResource, Stack
from slipway_emulator.template.context import Context
from slipway_emulator.template.dynamic_references import with_dynamic_references

_KEPT = ("Retain", "RetainExceptOnCreate")


def _existing(resource: ProvisionedResource) -> Existing:
    return Existing(resource.physical_id, resource.properties, resource.attributes)


class Provisioner:
    """Creates, updates and deletes the resources of one stack during one operation."""

    def __init__(self, stack: Stack, catalogue: Catalogue, ledger: Ledger, context: Context, faults: Faults) -> None:
        self._stack = stack
        self._faults = faults
        self._catalogue = catalogue
        self._ledger = ledger
        self._context = context

    def create(
        self,
        logical_id: str,
        resource_type: str,
        properties: Mapping[str, Any],
        *,
        action: Action = "create",
        **ledger_fields: Any,
    ) -> ProvisionedResource:
        """Create a resource.

        Args:
            logical_id: Its name in the template.
            resource_type: Its CloudFormation type.
            properties: Resolved, dynamic references not looked up.
            action: ``replace`` when it takes the place of another one.
            ledger_fields: More to write down, such as the changed properties.

        Raises:
            ProvisioningError: It could not be created; events and ledger are written. UnfinishedCreationError says
                that a part exists.
        """
        started = time.monotonic()
        handler = self._catalogue.handler(resource_type)
        self._stack.add_event(logical_id, resource_type, "CREATE_IN_PROGRESS")
        request = Request(self._stack.identity, logical_id, resource_type, properties)
        try:
            self._strike(request, "before create")
            done = handler.create(self._looked_up(request))
            self._strike(request, "after create", done)
        except ProvisioningError as failure:
            physical_id = failure.physical_id if isinstance(failure, UnfinishedCreationError) else ""
            self._fail("create", request, physical_id, failure, started)
            raise
        resource = ProvisionedResource(
            logical_id,
            resource_type,
            done.physical_id,
            properties,
            done.attributes,
            handler.backing,
            "CREATE_COMPLETE",
        )
        self._note(action, resource, started, unmapped=done.unmapped, **ledger_fields)
        self._stack.add_event(logical_id, resource_type, "CREATE_COMPLETE", physical_id=done.physical_id)
        return resource

    def can_update(self, resource: ProvisionedResource, changed: frozenset[str]) -> bool:
        """Whether the handler can change these properties in place."""
        return self._catalogue.handler(resource.resource_type).can_update(changed)

    def update(
        self,
        resource: ProvisionedResource,
        properties: Mapping[str, Any],
        changed: frozenset[str],
        *,
        action: Action = "update",
    ) -> ProvisionedResource:
        """Update a resource in place.

        Raises:
            ProvisioningError: It could not be updated; events and ledger are written.
        """
        started = time.monotonic()
        logical_id, resource_type = resource.logical_id, resource.resource_type
        self._stack.add_event(logical_id, resource_type, "UPDATE_IN_PROGRESS", physical_id=resource.physical_id)
        request = Request(self._stack.identity, logical_id, resource_type, properties)
        try:
            self._strike(request, "before update")
            done = self._catalogue.handler(resource_type).update(self._looked_up(request), _existing(resource), changed)
            self._strike(request, "after update")
        except ProvisioningError as failure:
            self._fail("update", request, resource.physical_id, failure, started)
            raise
        updated = replace(
            resource,
            physical_id=done.physical_id,
            properties=properties,
            attributes={**resource.attributes, **done.attributes},
            status="UPDATE_COMPLETE",
        )
        self._note(action, updated, started, changed=sorted(changed), unmapped=done.unmapped)
        self._stack.add_event(logical_id, resource_type, "UPDATE_COMPLETE", physical_id=done.physical_id)
        return updated

    def remove(self, resource: ProvisionedResource, policy: str, *, action: Action = "delete") -> None:
        """Delete a resource; leave it, or a snapshot of it, when its policy says so.

        Args:
            resource: What to delete.
            policy: The DeletionPolicy or UpdateReplacePolicy that applies.
            action: ``rollback`` when a failed operation is being undone.

        Raises:
            ProvisioningError: It could not be deleted; events and ledger are written.
        """
        started = time.monotonic()
        logical_id, resource_type = resource.logical_id, resource.resource_type
        keep = policy == "Retain" or (policy in _KEPT and action != "rollback")
        if keep:
            self._note("retain", resource, started)
            self._stack.add_event(logical_id, resource_type, "DELETE_SKIPPED", physical_id=resource.physical_id)
            return
        self._stack.add_event(logical_id, resource_type, "DELETE_IN_PROGRESS", physical_id=resource.physical_id)
        request = Request(self._stack.identity, logical_id, resource_type, resource.properties)
        handler = self._catalogue.handler(resource_type)
        try:
            self._strike(request, "before delete")
            if policy == "Snapshot" and isinstance(handler, SnapshotTaker):
                snapshot = handler.take_snapshot(request, _existing(resource))
                kept = replace(resource, resource_type=snapshot.resource_type, physical_id=snapshot.physical_id)
                self._note("retain", kept, started)
            handler.delete(request, _existing(resource))
        except ProvisioningError as failure:
            self._fail("delete", request, resource.physical_id, failure, started)
            raise
        self._note(action, resource, started)
        self._stack.add_event(logical_id, resource_type, "DELETE_COMPLETE", physical_id=resource.physical_id)

    def _strike(self, request: Request, moment: Moment, made: Provisioned | None = None) -> None:
        """Fail if a test asked for it; `made` exists then."""
        try:
            self._faults.strike(self._stack.name, request.logical_id, moment)
        except ProvisioningError as failure:
            if made is None:
                raise
            raise UnfinishedCreationError(str(failure), made.physical_id, made.attributes) from None

    def _looked_up(self, request: Request) -> Request:
        return replace(request, properties=with_dynamic_references(request.properties, self._context))

    def _note(self, action: Action, resource: ProvisionedResource, started: float, **fields: Any) -> None:
        self._ledger.resource(
            action,
            stack=self._stack.name,
            logical_id=resource.logical_id,
            type=resource.resource_type,
            backing=resource.backing,
            physical_id=resource.physical_id,
            seconds=round(time.monotonic() - started, 3),
            **fields,
        )

    def _fail(
        self, during: str, request: Request, physical_id: str, failure: ProvisioningError, started: float
    ) -> None:
        reason = self._ledger.without_hidden(str(failure))
        logical_id, resource_type = request.logical_id, request.resource_type
        self._ledger.resource(
            "failed",
            stack=self._stack.name,
            logical_id=logical_id,
            type=resource_type,
            backing=self._catalogue.handler(resource_type).backing,
            physical_id=physical_id,
            during=during,
            reason=reason,
            seconds=round(time.monotonic() - started, 3),
        )
        self._stack.add_event(logical_id, resource_type, f"{during.upper()}_FAILED", reason, physical_id)
