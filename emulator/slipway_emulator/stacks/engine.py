"""The engine: all stacks and change sets of the emulator, and the operations a client can start on them."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from slipway_emulator.clients import Clients
from slipway_emulator.failures import ProvisioningError, TemplateError
from slipway_emulator.faults import Faults
from slipway_emulator.ledger import Ledger
from slipway_emulator.permissions.acting import acting_for
from slipway_emulator.resources.catalogue import Catalogue
from slipway_emulator.stacks.change_sets import NO_CHANGES, ChangeSet
from slipway_emulator.stacks.changes import changes
from slipway_emulator.stacks.deletion import delete_stack
from slipway_emulator.stacks.deployment import Deployment
from slipway_emulator.stacks.model import Stack, StackState, Submission
from slipway_emulator.stacks.provisioner import Provisioner
from slipway_emulator.stacks.region_context import RegionContext
from slipway_emulator.template.intrinsics import Resolver
from slipway_emulator.template.parameters import parameter_values
from slipway_emulator.template.references import creation_order
from slipway_emulator.template.rules import check_rules


@dataclass(frozen=True)
class Prepared:
    """A submission that passed every check that touches no resource."""

    submission: Submission
    resolver: Resolver
    context: RegionContext

    @property
    def state(self) -> StackState:
        """What the stack becomes, before its outputs are known."""
        return StackState(self.submission.template, self.submission.parameters, self.submission.tags)


class Engine:
    """Holds the stacks; every operation runs in a thread of its own, except those of nested stacks."""

    def __init__(self, clients: Clients, ledger: Ledger, faults: Faults) -> None:
        self._clients = clients
        self._faults = faults
        self._ledger = ledger
        self._lock = threading.RLock()
        self.catalogue = Catalogue()
        self.stacks: list[Stack] = []
        self._deployments: dict[str, Deployment] = {}
        self._operating: dict[str, threading.RLock] = {}
        self.change_sets: list[ChangeSet] = []

    # ---- looking up ----------------------------------------------------------------------------------------

    def find(self, name_or_id: str, region: str) -> Stack | None:
        """A stack by name (deleted ones do not count) or by id (they do)."""
        for stack in reversed(self.stacks):
            by_name = stack.name == name_or_id and not stack.deleted
            if stack.region == region and (by_name or stack.id == name_or_id):
                return stack
        return None

    def exports(self, region: str) -> dict[str, str]:
        """Export name to value."""
        return {name: value for name, value, _ in self.exporters(region)}

    def exporters(self, region: str) -> list[tuple[str, str, Stack]]:
        """Export name, value and exporting stack."""
        return [
            (output.export_name, output.value, stack)
            for stack in self.stacks
            if stack.region == region and not stack.deleted
            for output in stack.state.outputs
            if output.export_name
        ]

    def changed_outputs(self, stack: Stack) -> set[tuple[str, str]]:
        """Stack and name of the outputs that a stack has read and that have another value now.

        CloudFormation reads such a value when it creates or updates the stack, before it processes the template: it is
        part of what changes (template reference, "Fn::GetStackOutput"; AWS DevOps blog, "Simplify cross-account and
        cross-Region stack output references with AWS CloudFormation and CDK's new Fn::GetStackOutput").
        """
        context = RegionContext(stack.region, self._clients, self._ledger, self.find, self.exports)
        return context.changed_outputs(stack.state.read_outputs)

    # ---- operations ----------------------------------------------------------------------------------------

    def prepare(self, stack: Stack, submission: Submission) -> Prepared:
        """Check a submission without touching a resource.

        Raises:
            ProvisioningError: Template, parameters or rules are wrong, or a resource type is unknown.
        """
        with acting_for(stack.role):
            return self._prepared(stack, submission)

    def _prepared(self, stack: Stack, submission: Submission) -> Prepared:
        template = submission.template
        template.check()
        self.catalogue.check(template.resources.values())
        retyped = [
            logical_id
            for logical_id, definition in template.resources.items()
            if logical_id in stack.resources and stack.resources[logical_id].resource_type != definition["Type"]
        ]
        if retyped:
            raise TemplateError(
                "Update of resource type is not permitted. The new template modifies resource type of the"
                f" following resources: [{', '.join(retyped)}]"
            )
        context = RegionContext(stack.region, self._clients, self._ledger, self.find, self.exports)
        parameters = parameter_values(template, submission.parameters, context)
        resolver = Resolver(stack.identity, template, parameters, context)
        check_rules(resolver)
        creation_order(resolver.active(template.resources))
        return Prepared(submission, resolver, context)

    def create_change_set(
        self,
        name: str,
        stack: Stack,
        kind: Literal["CREATE", "UPDATE"],
        submission: Submission,
        description: str | None,
    ) -> ChangeSet:
        """Prepare an operation; what is wrong with it becomes the change set's failure, as on AWS."""
        found: dict[str, Any] = {}
        try:
            prepared = self.prepare(stack, submission)
            active = prepared.resolver.active(submission.template.resources)
            parameters, outputs = prepared.resolver.parameters, self.changed_outputs(stack)
            found["changes"] = tuple(changes(stack, submission.template, set(active), parameters, outputs))
            if kind == "UPDATE" and not found["changes"] and _same_besides_resources(stack, submission):
                found["failure"] = NO_CHANGES
        except ProvisioningError as failure:
            found["failure"] = str(failure)
        change_set = ChangeSet(name, stack, kind, submission, description, **found)
        with self._lock:
            self.change_sets.append(change_set)
        return change_set

    def execute(self, change_set: ChangeSet, *, keep_failures: bool = False) -> None:
        """Start the operation of a change set; the stack's other change sets lapse."""
        with self._lock:
            self.change_sets = [other for other in self.change_sets if other.stack is not change_set.stack]
        creating = change_set.kind == "CREATE"
        self.deploy(change_set.stack, change_set.submission, creating=creating, keep_failures=keep_failures)

    def add(self, stack: Stack) -> None:
        """Take a stack in, once."""
        with self._lock:
            if stack not in self.stacks:
                self.stacks.append(stack)

    def deploy(
        self,
        stack: Stack,
        submission: Submission,
        *,
        creating: bool,
        keep_failures: bool = False,
        wait: bool = False,
    ) -> None:
        """Create or update a stack.

        Args:
            stack: The stack; a new one is taken in.
            submission: What it shall become.
            creating: Whether this is its first operation.
            keep_failures: Do not roll back.
            wait: Return when the operation has ended (nested stacks) instead of at once.

        Raises:
            ProvisioningError: The submission is refused; the stack is untouched.
        """
        prepared = self.prepare(stack, submission)
        deployment = Deployment(
            stack,
            prepared.state,
            prepared.resolver,
            Provisioner(stack, self.catalogue, self._ledger, prepared.context, self._faults),
            creating=creating,
            keep_failures=keep_failures,
        )
        if creating:
            self.add(stack)
        stack.enter("CREATE_IN_PROGRESS" if creating else "UPDATE_IN_PROGRESS", "User Initiated")
        self._deployments[stack.id] = deployment
        self._run(stack, lambda: deployment.run(prepared.context, self.stacks), submission.tags, wait=wait)

    def continue_rollback(self, stack: Stack) -> None:
        """Take back what the rollback of a stack's last update could not."""
        self._run(stack, self._deployments[stack.id].continue_rollback, stack.state.tags, wait=False)

    def delete(self, stack: Stack, retained: Collection[str] = (), *, wait: bool = False) -> None:
        """Delete a stack."""
        users = {
            other.name
            for name, _, exporter in self.exporters(stack.region)
            if exporter is stack
            for other in self.stacks
            if other is not stack and not other.deleted and name in other.state.imports
        }
        context = RegionContext(stack.region, self._clients, self._ledger, self.find, self.exports)
        provisioner = Provisioner(stack, self.catalogue, self._ledger, context, self._faults)
        stack.status = "DELETE_IN_PROGRESS"  # at once: the next DescribeStacks must not show the old status
        self._run(stack, lambda: delete_stack(stack, provisioner, users, retained), stack.state.tags, wait=wait)

    def _run(
        self, stack: Stack, operation: Callable[[], None], tags: Iterable[Mapping[str, str]], *, wait: bool
    ) -> None:
        of_stack = {tag["Key"]: tag["Value"] for tag in tags}

        def as_role() -> None:
            # A deletion may be asked for while the stack is made. AWS stops what it can; here it comes after.
            with self._operating.setdefault(stack.id, threading.RLock()), acting_for(stack.role, of_stack):
                operation()

        if wait:
            as_role()
        else:
            threading.Thread(target=as_role, name=stack.name, daemon=True).start()


def _same_besides_resources(stack: Stack, submission: Submission) -> bool:
    before = stack.state
    return before.template.section("Outputs") == submission.template.section("Outputs") and sorted(
        map(str, before.tags)
    ) == sorted(map(str, submission.tags))
