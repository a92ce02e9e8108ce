"""A call of ParallelCluster's library, validators and template builder and all, up to the call of CreateStack."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal
from unittest.mock import patch

import pcluster.lib as parallelcluster  # type: ignore[import-not-found]
import yaml
from pcluster.api.errors import ParallelClusterApiException  # type: ignore[import-not-found]
from pcluster.aws.cfn import CfnClient  # type: ignore[import-not-found]
from pcluster.config.common import Resource  # type: ignore[import-not-found]

from slipway.review.judge.inside_parallelcluster.answer import Finding, Level, Outcome
from slipway.review.judge.inside_parallelcluster.nested_templates import (
    launch_templates,
    nested_templates,
    resource_types,
    role_policies,
    stored_file,
)


def stopped_call(operation: Literal["create_cluster", "build_image"], outcome: Outcome, **arguments: Any) -> None:
    """Call an operation of `pcluster.lib` up to the call of CreateStack.

    Args:
        operation: name of the operation.
        outcome: gets findings and measures. The template is built only when no validator reports an error.
        arguments: the operation's own.
    """
    with _counted_validations(outcome), _stopped_at_create_stack() as template_urls:
        try:
            answer = getattr(parallelcluster, operation)(**arguments)
        except ParallelClusterApiException as refusal:
            _add_refusal(operation.replace("_", "-"), refusal.content.to_dict(), outcome)
            return
        except Exception as problem:
            # The boundary to a program that is not ours: whatever it raises is its verdict on the configuration.
            outcome.findings.append(Finding(Level.ERROR, type(problem).__name__, str(problem)))
            return
    outcome.validators_passed = True
    _add_messages(answer.get("validationMessages") or [], outcome)
    template = yaml.safe_load(stored_file(template_urls[0], f"templates/{template_urls[0].rpartition('/')[2]}"))
    outcome.template_resources = len(template["Resources"])
    outcome.template_bytes = len(json.dumps(template, separators=(",", ":")))
    nested = list(nested_templates(template_urls[0]))
    outcome.launch_templates |= launch_templates(nested)
    if operation == "create_cluster":
        outcome.configuration = yaml.safe_load(
            stored_file(template_urls[0], "configs/cluster-config-with-implied-values.yaml")
        )
        outcome.instance_types = json.loads(stored_file(template_urls[0], "configs/instance-types-data.json"))
    outcome.node_policies |= role_policies([template, *nested])
    outcome.resource_types |= resource_types([template, *nested])


def _add_refusal(command: str, content: Mapping[str, Any], outcome: Outcome) -> None:
    messages = content.get("configuration_validation_errors") or []
    _add_messages(messages, outcome)
    if not any(message["level"] == Level.ERROR for message in messages):
        outcome.findings.append(Finding(Level.ERROR, command, content["message"]))


def _add_messages(messages: Sequence[Mapping[str, Any]], outcome: Outcome) -> None:
    for message in messages:
        finding = Finding(Level(message["level"]), message["type"], message["message"])
        if finding not in outcome.findings:
            outcome.findings.append(finding)


@contextmanager
def _stopped_at_create_stack() -> Iterator[list[str]]:
    """Answer CreateStack without creating anything; give the template URLs that it was called with.

    An image's stack is described right after it was created, so DescribeStacks knows what CreateStack was told.
    """
    urls: list[str] = []
    stacks: dict[str, dict[str, Any]] = {}
    plain = CfnClient.describe_stack

    def create_stack(_: Any, stack_name: str, *, template_url: str, tags: Any, **__: Any) -> dict[str, Any]:
        urls.append(template_url)
        stack = {"StackId": "arn:aws:cloudformation:::stack/judged", "StackStatus": "CREATE_IN_PROGRESS"}
        return stacks.setdefault(stack_name, {**stack, "StackName": stack_name, "Tags": tags})

    def describe_stack(self: Any, stack_name: str) -> Any:
        return stacks.get(stack_name) or plain(self, stack_name)

    with (
        patch.object(CfnClient, "create_stack_from_url", create_stack),
        patch.object(CfnClient, "describe_stack", describe_stack),
    ):
        yield urls


@contextmanager
def _counted_validations(outcome: Outcome) -> Iterator[None]:
    plain = Resource._validator_execute

    def execute(*arguments: Any) -> Any:
        outcome.validations += 1
        return plain(*arguments)

    with patch.object(Resource, "_validator_execute", staticmethod(execute)):
        yield
