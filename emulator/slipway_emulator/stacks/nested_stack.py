"""Nested stacks: a template in S3 becomes a stack of its own."""

import re
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from slipway_emulator.clients import Clients
from slipway_emulator.failures import ProvisioningError, UnfinishedCreationError
from slipway_emulator.ledger import Backing
from slipway_emulator.permissions.acting import current
from slipway_emulator.resources.handler import Existing, Provisioned, Request
from slipway_emulator.stacks.engine import Engine
from slipway_emulator.stacks.model import Stack, Submission
from slipway_emulator.template.document import Template

_VIRTUAL_HOST_URL = re.compile(r"https://([^/]+?)\.s3[.-][^/]*amazonaws\.com/([^?]+)")
_PATH_URL = re.compile(r"https?://[^/]+/([^/]+)/([^?]+)")
_LONGEST_NAME = 128


class NestedStackHandler:
    """Runs the nested stack's operations to their end as part of the parent's."""

    backing: Backing = "nested"

    def __init__(self, engine: Engine, clients: Clients) -> None:
        self._engine = engine
        self._clients = clients

    def create(self, request: Request) -> Provisioned:
        """Create the nested stack."""
        region = request.stack.region
        submission = self._submission(request)
        name = request.generated_name(_LONGEST_NAME)
        stack = Stack.named(name, region, parent_id=request.stack.id)
        stack.role = current()
        self._require("CreateStack", stack, submission)
        try:
            self._engine.deploy(stack, submission, creating=True, wait=True)
        except ProvisioningError as failure:
            stack.enter("CREATE_FAILED", str(failure))
        if stack.status != "CREATE_COMPLETE":
            raise UnfinishedCreationError(
                f"Embedded stack {stack.id} was not successfully created: {stack.reason}", stack.id
            )
        return Provisioned(stack.id, _outputs(stack))

    def can_update(self, changed: frozenset[str]) -> bool:
        """Always: the nested stack has an update of its own."""
        return True

    def update(self, request: Request, existing: Existing, changed: frozenset[str]) -> Provisioned:
        """Update the nested stack."""
        stack = self._find(existing, request.stack.region)
        stack.role = current()
        submission = self._submission(request)
        self._require("UpdateStack", stack, submission)
        self._engine.deploy(stack, submission, creating=False, wait=True)
        if stack.status != "UPDATE_COMPLETE":
            raise ProvisioningError(f"Embedded stack {stack.id} was not successfully updated: {stack.reason}")
        return Provisioned(stack.id, _outputs(stack))

    def delete(self, request: Request, existing: Existing) -> None:
        """Delete the nested stack."""
        stack = self._find(existing, request.stack.region)
        if stack.deleted:
            return
        stack.role = current()
        self._clients.guard.require("cloudformation:DeleteStack", stack.region, StackName=stack.id)
        self._engine.delete(stack, wait=True)
        if not stack.deleted:
            raise ProvisioningError(f"Embedded stack {stack.id} was not successfully deleted: {stack.reason}")

    def _find(self, existing: Existing, region: str) -> Stack:
        stack = self._engine.find(existing.physical_id, region)
        if stack is None:
            raise ProvisioningError(f"Embedded stack {existing.physical_id} does not exist")
        return stack

    def _submission(self, request: Request) -> Submission:
        body = template_at(str(request.properties["TemplateURL"]), self._clients, request.stack.region)
        parameters = {name: _parameter_text(value) for name, value in request.properties.get("Parameters", {}).items()}
        # A stack's tags go on to what it nests (CloudFormation user guide, "Resource tags").
        parent = self._engine.find(request.stack.id, request.stack.region)
        return Submission(Template(body), parameters, parent.state.tags if parent else ())

    def _require(self, operation: str, stack: Stack, submission: Submission) -> None:
        self._clients.guard.require(
            f"cloudformation:{operation}", stack.region, StackName=stack.id, Tags=list(submission.tags)
        )


def template_at(url: str, clients: Clients, region: str) -> str:
    """The text of a template by its S3 URL, in either style.

    Raises:
        ProvisioningError: There is no such object; the message names the URL.
    """
    found = _VIRTUAL_HOST_URL.match(url) or _PATH_URL.match(url)
    if found is None:
        raise ProvisioningError(f"TemplateURL must be an S3 URL: {url}")
    client = clients.get("s3", region)
    try:
        return str(client.get_object(Bucket=found[1], Key=found[2])["Body"].read().decode())
    except (client.exceptions.NoSuchBucket, client.exceptions.NoSuchKey) as error:
        raise ProvisioningError(f"S3 error: the template {url} does not exist") from error
    except ClientError as error:
        raise ProvisioningError(f"S3 error: {error}") from error


def _parameter_text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _outputs(stack: Stack) -> Mapping[str, str]:
    return {f"Outputs.{output.key}": output.value for output in stack.state.outputs}
