"""The actions of the CloudFormation query API that the CDK CLI, ParallelCluster and boto3 users need."""

from contextlib import suppress
from typing import Any

import moto.cloudformation.urls as moto_urls
from moto.core.responses import ActionResult, BaseResponse, EmptyResult

from slipway_emulator.clients import Clients
from slipway_emulator.cloudformation_api import requests, views
from slipway_emulator.cloudformation_api.errors import (
    AlreadyExists,
    ChangeSetNotFound,
    NotAvailable,
    ValidationError,
)
from slipway_emulator.failures import ProvisioningError
from slipway_emulator.permissions.acting import current
from slipway_emulator.stacks.change_sets import ChangeSet
from slipway_emulator.stacks.engine import Engine
from slipway_emulator.stacks.model import Stack, StackState, Submission
from slipway_emulator.template.document import Template

_ROUTE = "{0}/$"

# On AWS a page ends at 1 MB (CloudFormation API reference, DescribeStackEvents, read 2026-11-26). It is shorter here:
# a client that follows a deployment asks often, and one that reads a single page of a long history is found.
_EVENTS_OF_A_PAGE = 100


class CloudFormationApi(BaseResponse):
    """moto parses the request and writes the answer; each method below is one action."""

    engine: Engine
    clients: Clients

    def __init__(self) -> None:
        super().__init__(service_name="cloudformation")
        self.automated_parameter_parsing = True

    def call_action(self) -> Any:
        """Run the action; one that is missing here is an AWS error, not a broken server."""
        try:
            return super().call_action()
        except NotImplementedError as error:
            status, headers, body = self.serialized(ActionResult(NotAvailable(str(error))))
            return status, headers, body

    # ---- stacks --------------------------------------------------------------------------------------------

    def create_stack(self) -> ActionResult:
        """CreateStack."""
        name = self._get_param("StackName")
        if self.engine.find(name, self.region):
            raise AlreadyExists(f"Stack [{name}] already exists")
        stack = Stack.named(name, self.region)
        self._take_role(stack)
        stack.termination_protection = bool(self._get_bool_param("EnableTerminationProtection"))
        keep_failures = self._get_param("OnFailure") == "DO_NOTHING" or self._keeps_failures()
        try:
            self.engine.deploy(stack, self._submission(stack.state), creating=True, keep_failures=keep_failures)
        except ProvisioningError as failure:
            raise ValidationError(str(failure)) from failure
        return ActionResult({"StackId": stack.id})

    def update_stack(self) -> ActionResult:
        """UpdateStack."""
        stack = self._idle_stack()
        self._take_role(stack)
        wanted = self._submission(stack.state)
        same = (
            wanted.template.document == stack.state.template.document
            and wanted.parameters == stack.state.parameters
            and list(wanted.tags) == list(stack.state.tags)
            and not self.engine.changed_outputs(stack)
        )
        if same:
            raise ValidationError("No updates are to be performed.")
        try:
            self.engine.deploy(stack, wanted, creating=False, keep_failures=self._keeps_failures())
        except ProvisioningError as failure:
            raise ValidationError(str(failure)) from failure
        return ActionResult({"StackId": stack.id})

    def continue_update_rollback(self) -> ActionResult:
        """ContinueUpdateRollback."""
        stack = self._stack()
        if stack.status != "UPDATE_ROLLBACK_FAILED":
            raise ValidationError(f"Stack:{stack.id} is in {stack.status} state and can not continue rollback.")
        stack.status = "UPDATE_ROLLBACK_IN_PROGRESS"
        self.engine.continue_rollback(stack)
        return EmptyResult()

    def delete_stack(self) -> ActionResult:
        """DeleteStack; deleting what is not there succeeds, as on AWS."""
        stack = self.engine.find(self._get_param("StackName"), self.region)
        if stack is None or stack.deleted:
            return EmptyResult()
        if stack.termination_protection:
            raise ValidationError(f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled")
        self._refuse_busy(stack)
        self._take_role(stack)
        self.engine.delete(stack, self._get_param("RetainResources") or [])
        return EmptyResult()

    def update_termination_protection(self) -> ActionResult:
        """UpdateTerminationProtection."""
        stack = self._stack()
        stack.termination_protection = bool(self._get_bool_param("EnableTerminationProtection"))
        return ActionResult({"StackId": stack.id})

    def describe_stacks(self) -> ActionResult:
        """DescribeStacks: one by name or id, or all that are not deleted."""
        if self._get_param("StackName"):
            return ActionResult({"Stacks": [views.stack_view(self._stack())]})
        stacks = [stack for stack in self._stacks_here() if not stack.deleted]
        return ActionResult({"Stacks": [views.stack_view(stack) for stack in stacks]})

    def list_stacks(self) -> ActionResult:
        """ListStacks, deleted ones included."""
        wanted = self._get_param("StackStatusFilter") or []
        stacks = [stack for stack in self._stacks_here() if not wanted or stack.status in wanted]
        return ActionResult({"StackSummaries": [views.summary_view(stack) for stack in stacks]})

    def describe_stack_events(self) -> ActionResult:
        """DescribeStackEvents, newest first and in pages: a client that follows a deployment reads only the first.

        A token is the number of events that are older. What happens between two pages does not shift them.
        """
        stack = self._stack()
        token = self._get_param("NextToken")
        end = int(token) if token else len(stack.events)
        start = max(0, end - _EVENTS_OF_A_PAGE)
        events = [views.event_view(stack, event) for event in reversed(stack.events[start:end])]
        return ActionResult({"StackEvents": events, "NextToken": str(start) if start else None})

    def get_template(self) -> ActionResult:
        """GetTemplate: the text as it was submitted."""
        body = self._stack().state.template.body
        return ActionResult({"TemplateBody": body, "StagesAvailable": ["Original", "Processed"]})

    def get_template_summary(self) -> ActionResult:
        """GetTemplateSummary of a stack or of a template."""
        template = self._stack().state.template if self._get_param("StackName") else self._template()
        parameters = [
            {
                "ParameterKey": name,
                "ParameterType": rule.get("Type", "String"),
                "DefaultValue": rule.get("Default"),
            }
            for name, rule in template.section("Parameters").items()
        ]
        types = sorted({str(definition["Type"]) for definition in template.resources.values()})
        return ActionResult({"Parameters": parameters, "ResourceTypes": types, "Capabilities": []})

    def validate_template(self) -> ActionResult:
        """ValidateTemplate."""
        template = self._template()
        try:
            template.check()
            self.engine.catalogue.check(template.resources.values())
        except ProvisioningError as failure:
            raise ValidationError(str(failure)) from failure
        return ActionResult({"Description": template.document.get("Description"), "Capabilities": []})

    # ---- resources -----------------------------------------------------------------------------------------

    def list_stack_resources(self) -> ActionResult:
        """ListStackResources."""
        return ActionResult({"StackResourceSummaries": self._resource_views(self._stack())})

    def describe_stack_resources(self) -> ActionResult:
        """DescribeStackResources: all, or the one with a logical id."""
        wanted = self._get_param("LogicalResourceId")
        found = self._resource_views(self._stack())
        return ActionResult({"StackResources": [view for view in found if wanted in (None, view["LogicalResourceId"])]})

    def describe_stack_resource(self) -> ActionResult:
        """DescribeStackResource."""
        stack, name = self._stack(), self._get_param("LogicalResourceId")
        if name not in stack.resources:
            raise ValidationError(f"Resource {name} does not exist for stack {stack.name}")
        return ActionResult({"StackResourceDetail": views.resource_view(stack, stack.resources[name])})

    # ---- change sets ---------------------------------------------------------------------------------------

    def create_change_set(self) -> ActionResult:
        """CreateChangeSet; for a new stack it also makes the stack, in REVIEW_IN_PROGRESS."""
        name, kind = self._get_param("StackName"), self._get_param("ChangeSetType", "UPDATE")
        stack = self.engine.find(name, self.region)
        if kind == "UPDATE":
            stack = self._idle_stack()
        elif stack is None:
            stack = Stack.named(name, self.region)
            stack.enter("REVIEW_IN_PROGRESS", "User Initiated")
            self.engine.add(stack)
        elif stack.status != "REVIEW_IN_PROGRESS":
            raise ValidationError(f"Stack [{name}] already exists and cannot be created again with the changeSet")
        self._take_role(stack)
        change_set = self.engine.create_change_set(
            self._get_param("ChangeSetName"),
            stack,
            kind,
            self._submission(stack.state),
            self._get_param("Description"),
        )
        return ActionResult({"Id": change_set.id, "StackId": stack.id})

    def describe_change_set(self) -> ActionResult:
        """DescribeChangeSet."""
        return ActionResult(views.change_set_view(self._change_set()))

    def list_change_sets(self) -> ActionResult:
        """ListChangeSets."""
        stack = self._stack()
        found = [change_set for change_set in self.engine.change_sets if change_set.stack is stack]
        return ActionResult({"Summaries": [views.change_set_summary(change_set) for change_set in found]})

    def execute_change_set(self) -> ActionResult:
        """ExecuteChangeSet."""
        change_set = self._change_set()
        if change_set.failure:
            raise ValidationError(f"ChangeSet [{change_set.id}] cannot be executed in its current status of FAILED")
        self._refuse_busy(change_set.stack)
        try:
            self.engine.execute(change_set, keep_failures=self._keeps_failures())
        except ProvisioningError as failure:
            raise ValidationError(str(failure)) from failure
        return EmptyResult()

    def delete_change_set(self) -> ActionResult:
        """DeleteChangeSet; deleting what is not there succeeds, as on AWS."""
        with suppress(ChangeSetNotFound):
            self.engine.change_sets.remove(self._change_set())
        return EmptyResult()

    # ---- exports and what the CLI asks after a failure -----------------------------------------------------

    def list_exports(self) -> ActionResult:
        """ListExports."""
        exports = [
            {"Name": name, "Value": value, "ExportingStackId": stack.id}
            for name, value, stack in self.engine.exporters(self.region)
        ]
        return ActionResult({"Exports": exports})

    def list_imports(self) -> ActionResult:
        """ListImports."""
        name = self._get_param("ExportName")
        users = [stack.name for stack in self._stacks_here() if not stack.deleted and name in stack.state.imports]
        return ActionResult({"Imports": users})

    def list_hook_results(self) -> ActionResult:
        """ListHookResults: there are no hooks here."""
        return ActionResult({"HookResults": []})

    def describe_events(self) -> ActionResult:
        """DescribeEvents: nothing beyond DescribeStackEvents."""
        return ActionResult({"OperationEvents": []})

    # ---- reading the request -------------------------------------------------------------------------------

    def _stack(self) -> Stack:
        name = self._get_param("StackName")
        stack = self.engine.find(name, self.region)
        if stack is None:
            raise ValidationError(f"Stack with id {name} does not exist")
        return stack

    def _idle_stack(self) -> Stack:
        stack = self._stack()
        if stack.deleted:
            raise ValidationError(f"Stack [{stack.name}] does not exist")
        self._refuse_busy(stack)
        if stack.status == "UPDATE_ROLLBACK_FAILED":
            raise ValidationError(f"Stack:{stack.id} is in {stack.status} state and can not be updated.")
        return stack

    @staticmethod
    def _refuse_busy(stack: Stack) -> None:
        if stack.status.endswith("_IN_PROGRESS") and stack.status != "REVIEW_IN_PROGRESS":
            raise ValidationError(f"Stack:{stack.id} is in {stack.status} state and can not be updated.")

    def _take_role(self, stack: Stack) -> None:
        """Let a stack's operations run as the role of the request, else the one it has, else as the caller.

        Source: CloudFormation API reference, `RoleARN` of CreateStack: CloudFormation uses the role for all future
        operations on the stack.
        """
        if role := self._get_param("RoleARN"):
            stack.role, stack.has_own_role = str(role), True
        elif not stack.has_own_role:
            stack.role = current()

    def _stacks_here(self) -> list[Stack]:
        return [stack for stack in self.engine.stacks if stack.region == self.region]

    def _submission(self, before: StackState) -> Submission:
        return requests.submission(self.params, before, self.clients, self.region)

    def _template(self) -> Template:
        return requests.submitted_template(self.params, self.clients, self.region)

    def _keeps_failures(self) -> bool:
        return bool(self._get_bool_param("DisableRollback"))

    def _resource_views(self, stack: Stack) -> list[dict[str, Any]]:
        return [views.resource_view(stack, resource) for resource in stack.resources.values()]

    def _change_set(self) -> ChangeSet:
        name, stack_name = self._get_param("ChangeSetName"), self._get_param("StackName")
        for change_set in reversed(self.engine.change_sets):
            of_stack = stack_name in (None, change_set.stack.name, change_set.stack.id)
            if change_set.id == name or (change_set.name == name and of_stack):
                return change_set
        raise ChangeSetNotFound(f"ChangeSet [{name}] does not exist")


def serve(engine: Engine, clients: Clients) -> None:
    """Put this API in the place of moto's CloudFormation; to be called before moto's server starts."""
    CloudFormationApi.engine = engine
    CloudFormationApi.clients = clients
    moto_urls.url_paths[_ROUTE] = CloudFormationApi.dispatch
