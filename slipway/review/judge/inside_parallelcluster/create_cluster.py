"""Calls the real aws-parallelcluster as the AWS-hosted custom resource does, up to the call of CreateStack."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from marshmallow import ValidationError  # type: ignore[import-not-found]
from pcluster.schemas.cluster_schema import ClusterSchema  # type: ignore[import-not-found]

from slipway.review.judge.inside_parallelcluster.answer import Finding, Level, Outcome
from slipway.review.judge.inside_parallelcluster.stopped_call import stopped_call


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
            stopped_call(
                "create_cluster", outcome, cluster_name=name, cluster_configuration=dict(configuration), wait=False
            )


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


@contextmanager
def _timed(outcome: Outcome, stage: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    outcome.seconds[stage] = round(time.monotonic() - start, 2)
