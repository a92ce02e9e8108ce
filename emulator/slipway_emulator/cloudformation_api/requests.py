"""Reading a CloudFormation request: its template, parameters and tags."""

from collections.abc import Mapping
from typing import Any

from slipway_emulator.clients import Clients
from slipway_emulator.cloudformation_api.errors import ValidationError
from slipway_emulator.failures import ProvisioningError
from slipway_emulator.stacks.model import StackState, Submission
from slipway_emulator.stacks.nested_stack import template_at
from slipway_emulator.template.document import Template


def submission(request: Mapping[str, Any], before: StackState, clients: Clients, region: str) -> Submission:
    """What a create or update request hands in.

    Args:
        request: The parsed members of the request.
        before: What UsePreviousTemplate and UsePreviousValue go back to, and a request without tags.
        clients: To fetch TemplateURL.
        region: The region of the request.

    Raises:
        ValidationError: There is no template.
    """
    template = before.template if request.get("UsePreviousTemplate") else submitted_template(request, clients, region)
    parameters = {}
    for parameter in request.get("Parameters") or []:
        name = parameter["ParameterKey"]
        if not parameter.get("UsePreviousValue"):
            parameters[name] = parameter.get("ParameterValue", "")
        elif name in before.parameters:
            parameters[name] = before.parameters[name]
    if request.get("Tags") is None:
        # "If you don't specify this parameter, CloudFormation doesn't modify the stack's tags" (UpdateStack).
        return Submission(template, parameters, before.tags)
    tags = tuple({"Key": tag["Key"], "Value": tag["Value"]} for tag in request["Tags"])
    return Submission(template, parameters, tags)


def submitted_template(request: Mapping[str, Any], clients: Clients, region: str) -> Template:
    """The template of a request, given as text or as an S3 URL.

    Raises:
        ValidationError: Neither is given, or nothing is at the URL.
    """
    if body := request.get("TemplateBody"):
        return Template(str(body))
    if url := request.get("TemplateURL"):
        try:
            return Template(template_at(str(url), clients, region))
        except ProvisioningError as failure:
            raise ValidationError(str(failure)) from failure
    raise ValidationError("Either Template URL or Template Body must be specified.")
