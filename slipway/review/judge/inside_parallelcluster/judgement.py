"""The judgement on the one cluster of a cloud assembly and on the images that its nodes may boot from."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import boto3
from moto import mock_aws

from slipway.review.judge.inside_parallelcluster import machine_images, moto_patches
from slipway.review.judge.inside_parallelcluster.account import Account
from slipway.review.judge.inside_parallelcluster.answer import Answer, Finding, Level, Outcome
from slipway.review.judge.inside_parallelcluster.blind_spots import configuration_findings, custom_resource_findings
from slipway.review.judge.inside_parallelcluster.cluster import Cluster
from slipway.review.judge.inside_parallelcluster.create_cluster import create_cluster, stringified
from slipway.review.judge.inside_parallelcluster.node_images import image_builds, judge_image_build
from slipway.review.judge.inside_parallelcluster.references import Stack, UnresolvedReferenceError
from slipway_emulator.existing_network import make_network
from slipway_emulator.existing_storage import make_storage

CLUSTER_TYPE = "Custom::PclusterCluster"

PROVIDER_TAG = {"Key": "parallelcluster:custom_resource", "Value": "cluster"}
"""The tag that the provider adds to every cluster."""


def judge(request: Mapping[str, Any]) -> Answer:
    """Make the account of a request in moto and let ParallelCluster judge the cluster and the node images in it.

    Args:
        request: what `slipway.review.judge.assembly.read_assembly` returns, `capacity_reservations` and
            `node_images` of the account, and `image_builder_images`, the names of Amazon's images that it can build
            from.
    """
    release = version("aws-parallelcluster")
    deviations = [
        *machine_images.bridge(release, request["image_builder_images"], request["node_images"]),
        *moto_patches.bridge(request["capacity_reservations"]),
    ]
    stacks = [Stack(**stack) for stack in request["stacks"]]
    with mock_aws(config={"iam": {"load_aws_managed_policies": True}}):
        if request["network"]:
            make_network(request["network"], stacks[0].region)
        account = Account(stacks, request["uploads"])
        outcome = Outcome([Finding(Level.ERROR, "account", message) for message in account.make_all()])
        try:
            cluster = _cluster(stacks, account, request["services"])
            subnet_id = cluster.configuration["HeadNode"]["Networking"]["SubnetId"]
            region = cluster.stack.region
            make_storage(request["existing"], partial(boto3.client, region_name=region), region, subnet_id)
            builds = list(image_builds(stacks, request["documents"], account))
        except UnresolvedReferenceError as problem:
            outcome.findings.append(Finding(Level.ERROR, "references", str(problem)))
        else:
            # Images first: a refused cluster leaves a thread behind that still imports ParallelCluster's CDK.
            for build in builds:
                judge_image_build(build, outcome)
            _judge_cluster(cluster, outcome)
    return Answer(release, deviations, outcome)


def _cluster(stacks: Sequence[Stack], account: Account, services: Mapping[str, Mapping[str, str]]) -> Cluster:
    """Find the cluster, with its references resolved to what exists in the account."""
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
        name: stringified(account.references.resolve(value, stack))
        for name, value in stack.resources[logical_id]["Properties"].items()
        if name != "ServiceToken"
    }
    if "ClusterName" not in properties or not isinstance(properties.get("ClusterConfiguration"), dict):
        raise UnresolvedReferenceError(
            f"{stack.name}: {logical_id} needs a ClusterName and a ClusterConfiguration object"
        )
    return Cluster(logical_id, stack, stacks, properties, services)


def _judge_cluster(cluster: Cluster, outcome: Outcome) -> None:
    # As in the provider's function, which runs in the stack's Region.
    os.environ["AWS_DEFAULT_REGION"] = cluster.stack.region
    outcome.findings.extend(custom_resource_findings(cluster))
    create_cluster(cluster.name, tagged_by_provider(cluster), outcome)
    if outcome.schema_passed:
        outcome.findings.extend(configuration_findings(cluster))


def tagged_by_provider(cluster: Cluster) -> dict[str, Any]:
    """Give the configuration with the tags that the provider adds: those of the stack and its own."""
    tags = list(cluster.configuration.get("Tags", []))
    own = {tag["Key"] for tag in tags}
    inherited = [{"Key": key, "Value": value} for key, value in cluster.stack.tags.items() if key not in own]
    return {**cluster.configuration, "Tags": [*tags, *inherited, PROVIDER_TAG]}
