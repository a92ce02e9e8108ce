"""Calls the real aws-parallelcluster as the AWS-hosted custom resource does, up to the call of CreateStack."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from urllib.parse import urlparse

import boto3
import pcluster.lib as parallelcluster  # type: ignore[import-not-found]
import yaml
from marshmallow import ValidationError  # type: ignore[import-not-found]
from pcluster.api.errors import ParallelClusterApiException  # type: ignore[import-not-found]
from pcluster.aws.cfn import CfnClient  # type: ignore[import-not-found]
from pcluster.config.common import Resource  # type: ignore[import-not-found]
from pcluster.schemas.cluster_schema import ClusterSchema  # type: ignore[import-not-found]

from slipway.judge.inside_parallelcluster.answer import Finding, Level, Outcome


def stringified(value: Any) -> Any:
    """Turn every scalar into a string: CloudFormation does that to the properties of a custom resource."""
    if isinstance(value, dict):
        return {key: stringified(item) for key, item in value.items()}
    if isinstance(value, list):
        return [stringified(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def create_cluster(name: str, configuration: Mapping[str, Any], outcome: Outcome) -> None:
    """Let ParallelCluster check a configuration and build the cluster's template.

    Args:
        name: `ClusterName` of the custom resource.
        configuration: `ClusterConfiguration` with all references resolved and every scalar a string.
        outcome: gets findings and measures. The validators run only when the schema passes, the template is built only
            when no validator reports an error.
    """
    with _timed(outcome, "schema"):
        _check_schema(name, configuration, outcome)
    if outcome.schema_passed:
        with _timed(outcome, "validators and template"):
            _validate_and_build(name, configuration, outcome)


def _check_schema(name: str, configuration: Mapping[str, Any], outcome: Outcome) -> None:
    try:
        ClusterSchema(cluster_name=name).load(configuration)
    except ValidationError as refusal:
        outcome.findings.extend(
            Finding(Level.ERROR, "ClusterSchema", message) for message in _flattened(refusal.normalized_messages())
        )
    else:
        outcome.schema_passed = True


def _flattened(messages: Any, path: str = "") -> Iterator[str]:
    """Give one line per message of marshmallow's nested answer, with the path of the field in front."""
    if isinstance(messages, dict):
        for key, nested in messages.items():
            yield from _flattened(nested, f"{path}.{key}".lstrip("."))
    elif isinstance(messages, list):
        for nested in messages:
            yield from _flattened(nested, path)
    else:
        yield f"{path}: {messages}"


def _validate_and_build(name: str, configuration: Mapping[str, Any], outcome: Outcome) -> None:
    with _counted_validations(outcome), _stopped_at_create_stack() as template_urls:
        try:
            answer = parallelcluster.create_cluster(
                cluster_name=name, cluster_configuration=dict(configuration), wait=False
            )
        except ParallelClusterApiException as refusal:
            _add_refusal(refusal.content.to_dict(), outcome)
            return
        except Exception as problem:
            # The boundary to a program that is not ours: whatever it raises is its verdict on the configuration.
            outcome.findings.append(Finding(Level.ERROR, type(problem).__name__, str(problem)))
            return
    outcome.validators_passed = True
    _add_messages(answer.get("validationMessages") or [], outcome)
    template = _stored_template(template_urls[0])
    outcome.template_resources = len(template["Resources"])
    outcome.template_bytes = len(json.dumps(template, separators=(",", ":")))


def _add_refusal(content: Mapping[str, Any], outcome: Outcome) -> None:
    messages = content.get("configuration_validation_errors") or []
    _add_messages(messages, outcome)
    if not any(message["level"] == Level.ERROR for message in messages):
        outcome.findings.append(Finding(Level.ERROR, "create-cluster", content["message"]))


def _add_messages(messages: Sequence[Mapping[str, Any]], outcome: Outcome) -> None:
    for message in messages:
        finding = Finding(Level(message["level"]), message["type"], message["message"])
        if finding not in outcome.findings:
            outcome.findings.append(finding)


def _stored_template(url: str) -> dict[str, Any]:
    """Read the template that ParallelCluster stored, from the URL that it gave to CreateStack."""
    address = urlparse(url)
    bucket = address.netloc.split(".s3.")[0]
    stored = boto3.client("s3").get_object(Bucket=bucket, Key=address.path.lstrip("/"))
    template: dict[str, Any] = yaml.safe_load(stored["Body"].read())
    return template


@contextmanager
def _stopped_at_create_stack() -> Iterator[list[str]]:
    """Answer CreateStack without creating anything; give the template URLs that it was called with."""
    urls: list[str] = []

    def create_stack(_: Any, *, template_url: str, **__: Any) -> dict[str, str]:
        urls.append(template_url)
        return {"StackId": "arn:aws:cloudformation:::stack/judged"}

    with patch.object(CfnClient, "create_stack_from_url", create_stack):
        yield urls


@contextmanager
def _counted_validations(outcome: Outcome) -> Iterator[None]:
    plain = Resource._validator_execute

    def execute(*arguments: Any) -> Any:
        outcome.validations += 1
        return plain(*arguments)

    with patch.object(Resource, "_validator_execute", staticmethod(execute)):
        yield


@contextmanager
def _timed(outcome: Outcome, stage: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    outcome.seconds[stage] = round(time.monotonic() - start, 2)
