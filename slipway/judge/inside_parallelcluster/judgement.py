"""The judgement on the one cluster of a cloud assembly."""

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from moto import mock_aws

from slipway.judge.inside_parallelcluster import moto_deviations
from slipway.judge.inside_parallelcluster.account import Account
from slipway.judge.inside_parallelcluster.answer import Answer, Finding, Level, Outcome
from slipway.judge.inside_parallelcluster.blind_spots import (
    Cluster,
    configuration_findings,
    custom_resource_findings,
)
from slipway.judge.inside_parallelcluster.create_cluster import create_cluster, stringified
from slipway.judge.inside_parallelcluster.references import Stack, UnresolvedReferenceError

CLUSTER_TYPE = "Custom::PclusterCluster"

PROVIDER_TAG = {"Key": "parallelcluster:custom_resource", "Value": "cluster"}
"""The tag that the provider adds to every cluster."""


def judge(request: Mapping[str, Any]) -> Answer:
    """Make the account of a request in moto and let ParallelCluster judge the cluster in it.

    Args:
        request: `stacks` and `uploads` of an assembly and the `capacity_reservations` of the account.
    """
    release = version("aws-parallelcluster")
    deviations = moto_deviations.bridge(release, request["capacity_reservations"])
    stacks = [Stack(**stack) for stack in request["stacks"]]
    with mock_aws(config={"iam": {"load_aws_managed_policies": True}}):
        account = Account(stacks, request["uploads"])
        outcome = Outcome([Finding(Level.ERROR, "account", message) for message in account.make_all()])
        try:
            stack, cluster = _cluster(stacks, account)
        except UnresolvedReferenceError as problem:
            outcome.findings.append(Finding(Level.ERROR, "references", str(problem)))
        else:
            _judge_cluster(cluster, stack, outcome)
    return Answer(release, deviations, outcome)


def _cluster(stacks: Sequence[Stack], account: Account) -> tuple[Stack, Cluster]:
    """Find the cluster, with its references resolved to what stands in the account."""
    found = [
        (stack, logical_id)
        for stack in stacks
        for logical_id, resource in stack.resources.items()
        if resource["Type"] == CLUSTER_TYPE
    ]
    if len(found) != 1:
        raise UnresolvedReferenceError(f"the assembly must have exactly one {CLUSTER_TYPE}, it has {len(found)}")
    stack, logical_id = found[0]
    properties = {
        name: account.references.resolve(value, stack)
        for name, value in stack.resources[logical_id]["Properties"].items()
        if name != "ServiceToken"
    }
    if not isinstance(properties.get("ClusterConfiguration"), dict):
        raise UnresolvedReferenceError(f"{stack.name}: ClusterConfiguration must be an object, not a string")
    return stack, Cluster(logical_id, stacks, properties)


def _judge_cluster(cluster: Cluster, stack: Stack, outcome: Outcome) -> None:
    os.environ["AWS_DEFAULT_REGION"] = stack.region  # As in the provider's function, which runs in the stack's Region.
    outcome.findings.extend(custom_resource_findings(cluster))
    create_cluster(cluster.name, as_the_provider_sees_it(cluster.configuration, stack), outcome)
    if outcome.schema_passed:
        outcome.findings.extend(configuration_findings(cluster))


def as_the_provider_sees_it(configuration: Mapping[str, Any], stack: Stack) -> dict[str, Any]:
    """Turn scalars into strings and add the tags of the stack, which the provider gives to the cluster too."""
    seen: dict[str, Any] = stringified(dict(configuration))
    own = {tag["Key"] for tag in seen.get("Tags", [])}
    inherited = [{"Key": key, "Value": value} for key, value in stack.tags.items() if key not in own]
    seen["Tags"] = [*seen.get("Tags", []), *inherited, PROVIDER_TAG]
    return seen
