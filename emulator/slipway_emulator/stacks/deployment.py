"""Creating or updating a whole stack, with rollback."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from slipway_emulator.failures import ProvisioningError, TemplateError, UnfinishedCreationError
from slipway_emulator.stacks.changes import changed_names
from slipway_emulator.stacks.model import (
    Output,
    ProvisionedResource,
    Stack,
    StackState,
    now,
)
from slipway_emulator.stacks.provisioner import Provisioner
from slipway_emulator.stacks.region_context import RegionContext
from slipway_emulator.stacks.registry import replacing_properties
from slipway_emulator.template.document import ResourceDefinition
from slipway_emulator.template.intrinsics import Resolver
from slipway_emulator.template.references import creation_order, dependencies

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Step:
    """What was done to one resource, so that it can be undone.

    Attributes:
        before: The resource as it was, None when it was created.
        after: The resource as it is now.
    """

    before: ProvisionedResource | None
    after: ProvisionedResource

    @property
    def made_new(self) -> bool:
        """Whether a new physical resource stands beside or instead of the old one."""
        return self.before is None or self.before.physical_id != self.after.physical_id


class Deployment:
    """One create or update operation on a stack.

    Args:
        stack: The stack, already in an ``_IN_PROGRESS`` status.
        target: What the stack shall become; its outputs and imports are filled in here.
        resolver: Resolves the target's template.
        provisioner: Does the work on single resources.
        creating: Whether the stack is new; decides the names of the statuses and what a rollback means.
        keep_failures: Leave everything as it is after a failure instead of rolling back.
    """

    def __init__(
        self,
        stack: Stack,
        target: StackState,
        resolver: Resolver,
        provisioner: Provisioner,
        *,
        creating: bool,
        keep_failures: bool = False,
    ) -> None:
        self._stack = stack
        self._target = target
        self._resolver = resolver
        self._provisioner = provisioner
        self._creating = creating
        self._keep_failures = keep_failures
        self._verb = "CREATE" if creating else "UPDATE"
        self._previous = stack.state
        self._before = dict(stack.resources)
        self._steps: list[_Step] = []

    def run(self, context: RegionContext, stacks: Iterable[Stack]) -> None:
        """Carry the operation out; the stack ends in a final status whatever happens.

        Args:
            context: Remembers the exports and outputs that the template reads while it is resolved.
            stacks: All stacks, this one included: their exports and imports stand in the way of new outputs.
        """
        # Clients see the new template and tags at once, outputs when the operation has succeeded.
        self._stack.state = replace(self._target, outputs=self._previous.outputs, imports=self._previous.imports)
        try:
            definitions = self._resolver.active(self._target.template.resources)
            for logical_id in creation_order(definitions):
                self._provision(logical_id, definitions[logical_id])
            outputs = self._outputs()
            _check_exports(self._stack, outputs, stacks)
        except ProvisioningError as failure:
            self._end_in_failure(failure)
        except Exception as bug:
            # The client polls for a final status: a defect of the emulator must not leave it waiting forever.
            _log.exception("defect while deploying %s", self._stack.name)
            self._end_in_failure(ProvisioningError(f"Defect of the emulator: {type(bug).__name__}: {bug}"))
        else:
            self._stack.state = replace(
                self._target,
                outputs=outputs,
                imports=frozenset(context.imports),
                resolved_parameters=dict(self._resolver.parameters),
                read_outputs=dict(context.outputs),
            )
            self._finish(definitions)

    # ---- forward -------------------------------------------------------------------------------------------

    def _provision(self, logical_id: str, definition: ResourceDefinition) -> None:
        existing = self._before.get(logical_id)
        properties = self._resolver.resolve(definition.get("Properties") or {})
        if existing is None:
            resource = self._create(logical_id, definition["Type"], properties)
        else:
            resource = self._bring_up_to_date(existing, properties)
        if resource is not existing:
            self._steps.append(_Step(existing, resource))
        self._stack.resources[logical_id] = resource
        self._resolver.resources[logical_id] = resource

    def _create(
        self, logical_id: str, resource_type: str, properties: Mapping[str, Any], **options: Any
    ) -> ProvisionedResource:
        try:
            return self._provisioner.create(logical_id, resource_type, properties, **options)
        except UnfinishedCreationError as failure:
            part = ProvisionedResource(
                logical_id, resource_type, failure.physical_id, properties, failure.attributes, "api", "CREATE_FAILED"
            )
            self._steps.append(_Step(None, part))
            self._stack.resources.setdefault(logical_id, part)
            raise

    def _bring_up_to_date(self, existing: ProvisionedResource, properties: Mapping[str, Any]) -> ProvisionedResource:
        changed = changed_names(existing.properties, properties)
        if not changed:
            return existing
        replacing = replacing_properties(existing.resource_type, self._stack.region, existing.properties, properties)
        if not replacing and self._provisioner.can_update(existing, frozenset(changed)):
            try:
                return self._provisioner.update(existing, properties, frozenset(changed))
            except ProvisioningError:
                # A half-done update has to be undone like a done one.
                self._steps.append(_Step(existing, replace(existing, properties=properties)))
                raise
        why = f"replaced because of {', '.join(replacing)}" if replacing else "the emulator cannot update it in place"
        return self._create(
            existing.logical_id,
            existing.resource_type,
            properties,
            action="replace",
            changed=changed,
            reason=why,
        )

    def _outputs(self) -> tuple[Output, ...]:
        found = []
        for key, definition in self._resolver.active(self._target.template.section("Outputs")).items():
            try:
                value = self._resolver.text(definition["Value"])
            except TypeError as error:
                raise TemplateError(
                    f"Template format error: The Value field of every Outputs member must evaluate to a String: {key}"
                ) from error
            export = definition.get("Export")
            export_name = self._resolver.text(export["Name"]) if export else None
            found.append(Output(key, value, definition.get("Description"), export_name))
        return tuple(found)

    # ---- success -------------------------------------------------------------------------------------------

    def _finish(self, definitions: Mapping[str, ResourceDefinition]) -> None:
        replaced = [step.before for step in self._steps if step.before and step.made_new]
        order = creation_order(self._previous.template.resources) if self._before else []
        dropped = [self._before[name] for name in order if name in self._before and name not in definitions]
        if replaced or dropped:
            self._stack.enter("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        for resource in reversed(replaced):
            self._clean_up(resource, "UpdateReplacePolicy")
        for resource in reversed(dropped):
            self._clean_up(resource, "DeletionPolicy")
            self._stack.resources.pop(resource.logical_id, None)
        if not self._creating:
            self._stack.updated_at = now()
        self._stack.enter(f"{self._verb}_COMPLETE")

    def _clean_up(self, resource: ProvisionedResource, policy_name: str) -> None:
        definition = self._previous.template.resources[resource.logical_id]
        try:
            self._provisioner.remove(resource, definition.get(policy_name, "Delete"))
        except ProvisioningError:
            # As on AWS: the update stands, the event and the ledger tell of the resource that is left over.
            _log.warning("%s: clean-up left %s behind", self._stack.name, resource.physical_id)

    # ---- failure -------------------------------------------------------------------------------------------

    def _end_in_failure(self, failure: ProvisioningError) -> None:
        reason = self._failure_reason(failure)
        if self._keep_failures:
            # The new template stays too: the old one does not know what was created.
            self._stack.enter(f"{self._verb}_FAILED", reason)
            return
        if not self._creating:
            self._stack.state = self._previous
        prefix = "ROLLBACK" if self._creating else "UPDATE_ROLLBACK"
        self._stack.enter(f"{prefix}_IN_PROGRESS", f"{reason} Rollback requested by user.")
        self._take_back(prefix, reason)

    def continue_rollback(self) -> None:
        """Take back what a rollback could not, after a failed update."""
        self._stack.enter("UPDATE_ROLLBACK_IN_PROGRESS", "User Initiated")
        self._take_back("UPDATE_ROLLBACK", "")

    def _take_back(self, prefix: str, reason: str) -> None:
        needs = dependencies(self._target.template.resources)
        left: list[_Step] = []
        needed: set[str] = set()
        for step in reversed(self._steps):
            logical_id = step.after.logical_id
            # What stays keeps what it was made with, as in a deletion.
            if (step.made_new and logical_id in needed) or not self._undo(step):
                needed |= needs[logical_id] if step.made_new else set()
                left.append(step)
        self._steps = left[::-1]
        self._stack.enter(f"{prefix}_FAILED" if left else f"{prefix}_COMPLETE", reason)

    def _failure_reason(self, failure: ProvisioningError) -> str:
        last = self._stack.events[-1]
        if not last.status.endswith("_FAILED") or last.logical_id == self._stack.name:
            return str(failure)
        verb = "create" if last.status == "CREATE_FAILED" else "update"
        return f"The following resource(s) failed to {verb}: [{last.logical_id}]."

    def _undo(self, step: _Step) -> bool:
        """Take one step back; answers whether that worked."""
        try:
            if step.made_new:
                policy = self._target.template.resources[step.after.logical_id].get("DeletionPolicy", "Delete")
                self._provisioner.remove(step.after, policy, action="rollback")
            elif step.before:
                changed = frozenset(changed_names(step.after.properties, step.before.properties))
                self._provisioner.update(step.after, step.before.properties, changed, action="rollback")
        except ProvisioningError:
            return False
        logical_id = step.after.logical_id
        if logical_id in self._before:
            self._stack.resources[logical_id] = self._before[logical_id]
        else:
            self._stack.resources.pop(logical_id, None)
        return True


def _check_exports(stack: Stack, outputs: tuple[Output, ...], stacks: Iterable[Stack]) -> None:
    """Refuse an export whose name is taken, and one that is dropped or changed while another stack imports it."""
    others = [other for other in stacks if other is not stack and not other.deleted and other.region == stack.region]
    exports = {output.export_name: output.value for output in outputs if output.export_name}
    for other in others:
        for output in other.state.outputs:
            if output.export_name in exports:
                raise ProvisioningError(
                    f"Export with name {output.export_name} is already exported by stack {other.name}."
                )
    for output in stack.state.outputs:
        if output.export_name and exports.get(output.export_name) != output.value:
            users = [other.name for other in others if output.export_name in other.state.imports]
            if users:
                raise ProvisioningError(
                    f"Cannot update or delete export {output.export_name} as it is in use by {', '.join(users)}"
                )
