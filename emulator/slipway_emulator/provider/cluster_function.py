"""The function behind Custom::PclusterCluster: hands the request to aws-parallelcluster and waits for the cluster.

Runs as a Lambda function in the virtual environment of aws-parallelcluster, so it imports nothing of this project.
Properties, attributes and rules are those of the provider that AWS hosts (aws-parallelcluster, file
cloudformation/custom_resource/cluster.yaml); only its reasons are written for people.
"""

import json
import time
import traceback
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import pcluster.lib as parallelcluster  # type: ignore[import-not-found]
from pcluster.api.errors import NotFoundException, exception_message  # type: ignore[import-not-found]
from pcluster.cli.exceptions import ParameterException  # type: ignore[import-not-found]
from pcluster.utils import to_snake_case  # type: ignore[import-not-found]

_NOT_FOR_PARALLELCLUSTER = ("ServiceToken", "DeletionPolicy")
_NOT_IN_ANSWER = ("clusterConfiguration", "scheduler", "tags")
_OWN_TAG = {"Key": "parallelcluster:custom_resource", "Value": "cluster"}
_LONGEST_MESSAGES = 2048  # characters of validationMessages, as in the real provider
_LONGEST_REASON = 800  # characters; CloudFormation cuts status reasons
_POLL_SECONDS = 1
_LEVELS = ("ERROR", "WARNING", "INFO")


def handler(event: dict[str, Any], context: Any) -> None:
    """Carry out a custom resource request and answer CloudFormation."""
    physical_id = event.get("PhysicalResourceId") or event["ResourceProperties"].get("ClusterName", "no-name")
    try:
        data = _REQUESTS[event["RequestType"]](event, event["ResourceProperties"])
    except Exception as error:
        traceback.print_exc()
        _answer(event, physical_id, "FAILED", {}, reason(error))
    else:
        _answer(event, physical_id, "SUCCESS", data, "")


def _create(event: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    if "ClusterName" not in properties:
        raise ValueError("Couldn't find a ClusterName in the properties.")
    return _create_or_update(parallelcluster.create_cluster, event, properties)


def _update(event: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    if properties.get("ClusterName") != event["PhysicalResourceId"]:
        raise ValueError("Cannot update the ClusterName in the properties.")
    return _create_or_update(parallelcluster.update_cluster, event, properties)


def _create_or_update(operation: Any, event: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    _check_deletion_policy(properties)
    configuration = dict(properties["ClusterConfiguration"])
    configured_tags = configuration.get("Tags", [])
    inherited_tags = _stack_tags(event["StackId"], {tag["Key"] for tag in configured_tags})
    configuration["Tags"] = [*inherited_tags, *configured_tags, _OWN_TAG]
    # Every other property becomes an argument: one that ParallelCluster does not know must fail here as on AWS.
    arguments = {
        to_snake_case(name): value for name, value in properties.items() if name not in _NOT_FOR_PARALLELCLUSTER
    }
    messages: list[Any] = []
    try:
        answer = operation(**{**arguments, "cluster_configuration": configuration, "wait": False})
        messages = answer.get("validationMessages") or []
    except Exception as error:
        if "No changes found" not in reason(error):
            raise
    cluster = _wait(properties["ClusterName"])
    return {**_attributes(cluster), "validationMessages": _shortened(json.dumps(messages))}


def _delete(event: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    _check_deletion_policy(properties)
    name = properties.get("ClusterName")
    if properties.get("DeletionPolicy") == "Retain":
        return {}
    try:
        parallelcluster.delete_cluster(cluster_name=name)
        while True:
            _refuse_failed(parallelcluster.describe_cluster(cluster_name=name))
            time.sleep(_POLL_SECONDS)
    except (NotFoundException, ParameterException):
        return {}  # gone, or never created under a valid name


_REQUESTS = {"Create": _create, "Update": _update, "Delete": _delete}


def _check_deletion_policy(properties: Mapping[str, Any]) -> None:
    if properties.get("DeletionPolicy", "Delete") not in ("Retain", "Delete"):
        raise ValueError('DeletionPolicy must be one of ["Retain", "Delete"].')


def _stack_tags(stack_id: str, overridden: set[str]) -> list[dict[str, str]]:
    stack = boto3.client("cloudformation").describe_stacks(StackName=stack_id)["Stacks"][0]
    return [
        {"Key": tag["Key"], "Value": tag["Value"]}
        for tag in stack.get("Tags", [])
        if not tag["Key"].startswith("aws:") and tag["Key"] not in overridden
    ]


def _wait(name: str) -> Mapping[str, Any]:
    """Wait until the cluster is made or changed; the emulator ends this process when that takes too long."""
    while True:
        cluster: Mapping[str, Any] = parallelcluster.describe_cluster(cluster_name=name)
        if cluster["clusterStatus"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            return cluster
        _refuse_failed(cluster)
        time.sleep(_POLL_SECONDS)


def _refuse_failed(cluster: Mapping[str, Any]) -> None:
    status = cluster["clusterStatus"]
    if status.endswith("_FAILED"):
        failures = "; ".join(
            f"{failure.get('failureCode')}: {failure.get('failureReason')}" for failure in cluster.get("failures", [])
        )
        raise ValueError(f"{cluster['clusterName']} is in {status}. {failures}".strip())


def _attributes(cluster: Mapping[str, Any]) -> dict[str, str]:
    """What Fn::GetAtt can read: the description flattened with dots, as text."""
    kept = {name: value for name, value in cluster.items() if name not in _NOT_IN_ANSWER}
    return dict(_flattened(kept, ""))


def _flattened(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _flattened(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        yield from _flattened({str(position): item for position, item in enumerate(value)}, path)
    elif value is not None:
        yield path, str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_MESSAGES else f"TRUNCATED:{text[:_LONGEST_MESSAGES]}"


def reason(error: Exception) -> str:
    """The failure as sentences: what ParallelCluster says, then each message on a line of its own, worst first."""
    if isinstance(error, ValueError | TypeError | ParameterException):
        return str(error)
    content = exception_message(error)
    details = content if isinstance(content, dict) else content.to_dict()
    validations = sorted(
        details.get("configuration_validation_errors") or [], key=lambda found: _LEVELS.index(found["level"])
    )
    return _fitting(
        [
            str(details.get("message", "")),
            *(f"{found['level']} {found['type']}: {found['message']}" for found in validations),
            *(
                f"ERROR {found['parameter']}: {found['message']}"
                for found in details.get("update_validation_errors") or []
            ),
        ]
    )


def _fitting(lines: list[str]) -> str:
    """As many whole lines as CloudFormation shows, and how many more there are."""
    length = 0
    for position, line in enumerate(lines):
        length += len(line) + 1
        if length > _LONGEST_REASON and position > 0:
            return "\n".join([*lines[:position], f"({len(lines) - position} more in the function's log)"])
    return "\n".join(lines)


def _answer(event: Mapping[str, Any], physical_id: str, status: str, data: Mapping[str, Any], why: str) -> None:
    body = {
        "Status": status,
        "Reason": why,
        "PhysicalResourceId": physical_id,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "Data": data,
    }
    request = urllib.request.Request(event["ResponseURL"], data=json.dumps(body).encode(), method="PUT")
    request.add_header("Content-Type", "")
    urllib.request.urlopen(request)
