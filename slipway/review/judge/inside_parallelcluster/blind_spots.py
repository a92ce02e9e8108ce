"""Checks of what aws-parallelcluster's own validators let through and AWS does not.

Each was found by mutation: the broken configuration passed all validators. docs/judge.md lists them. What can be seen
without an account, in the text of configuration and templates, is a rule of `slipway.review.lint`, which runs at synth.
"""

import fnmatch
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import boto3
from botocore.exceptions import ClientError
from pcluster.validators.cluster_validators import _is_access_allowed  # type: ignore[import-not-found]

from slipway.review.judge.inside_parallelcluster.answer import Finding, Level
from slipway.review.judge.inside_parallelcluster.cluster import Cluster, Node

PROVIDER: Mapping[str, Any] = json.loads((Path(__file__).parent / "provider.json").read_text("utf-8"))
"""What the AWS-hosted provider accepts, answers and may do: data with source and date."""


def custom_resource_findings(cluster: Cluster) -> list[Finding]:
    """Check the custom resource itself; the configuration need not be valid."""
    return _findings(cluster, [_unknown_properties, _name_taken])


def configuration_findings(cluster: Cluster) -> list[Finding]:
    """Check the configuration; it must have passed ParallelCluster's schema."""
    checks = [
        _unknown_attributes,
        _types_not_offered,
        _subnets_without_way_out,
        _unreadable_scripts,
        _capacity_blocks_outside_their_type,
        _closed_lustre_ports,
    ]
    return _findings(cluster, checks)


def _findings(cluster: Cluster, checks: Sequence[Callable[[Cluster], Iterator[str]]]) -> list[Finding]:
    findings: list[Finding] = []
    for check in checks:
        name = check.__name__.lstrip("_").replace("_", " ")
        try:
            findings.extend(Finding(Level.ERROR, name, message) for message in check(cluster))
        except ClientError as refusal:
            findings.append(Finding(Level.ERROR, name, f"could not be checked: {refusal}"))
    return findings


def _unknown_properties(cluster: Cluster) -> Iterator[str]:
    facts = PROVIDER["properties"]
    for name in cluster.properties:
        if name not in facts["allowed"]:
            yield f"{cluster.logical_id}: property {name} is not allowed: {facts['why']}"


def _name_taken(cluster: Cluster) -> Iterator[str]:
    if cluster.name in {stack.name for stack in cluster.stacks}:
        yield f"ClusterName {cluster.name} is the name of a stack of this app; the cluster needs a stack of that name"


def _unknown_attributes(cluster: Cluster) -> Iterator[str]:
    facts = PROVIDER["attributes"]
    answered = set(facts["always"])
    if _is_public(cluster.configuration["HeadNode"]["Networking"]["SubnetId"]):
        answered |= set(facts["in_public_subnet"])
    for attribute in sorted(_attributes_used(cluster.stack.template, cluster.logical_id) - answered):
        yield f"{cluster.stack.name} uses attribute {attribute} of the cluster, which the provider does not answer here"


def _attributes_used(value: Any, logical_id: str) -> set[str]:
    """Collect the attributes that `Fn::GetAtt` asks of a resource, anywhere in a template."""
    if isinstance(value, list):
        return {name for item in value for name in _attributes_used(item, logical_id)}
    if not isinstance(value, dict):
        return set()
    asked = value.get("Fn::GetAtt")
    if isinstance(asked, list) and asked[0] == logical_id:
        return {asked[1]}
    return {name for item in value.values() for name in _attributes_used(item, logical_id)}


def _is_public(subnet_id: str) -> bool:
    subnet = boto3.client("ec2").describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]
    return bool(subnet["MapPublicIpOnLaunch"])


def _types_not_offered(cluster: Cluster) -> Iterator[str]:
    ec2 = boto3.client("ec2")

    @cache  # Fifty queues may have one instance type; moto takes a while.
    def offering_zones(instance_type: str) -> list[str]:
        offers = ec2.get_paginator("describe_instance_type_offerings").paginate(
            LocationType="availability-zone-id",
            Filters=[{"Name": "instance-type", "Values": [instance_type]}],
        )
        return sorted(offer["Location"] for page in offers for offer in page["InstanceTypeOfferings"])

    for node in cluster.nodes:
        subnets = ec2.describe_subnets(SubnetIds=list(node.subnet_ids))["Subnets"]
        for instance_type in node.instance_types:
            offered = offering_zones(instance_type)
            for zone in {subnet["AvailabilityZoneId"] for subnet in subnets} - set(offered):
                where = ", ".join(offered) or "nowhere in this Region"
                yield f"{node.where}: {instance_type} is not offered in {zone} (offered: {where})"


def _subnets_without_way_out(cluster: Cluster) -> Iterator[str]:
    """Without NAT all services need a VPC endpoint, and names of nodes must not come from Route 53, which has none.

    Source: AWS ParallelCluster guide, "AWS ParallelCluster in a single subnet with no internet access".
    """
    ec2 = boto3.client("ec2")
    isolated = cluster.configuration["Scheduling"]["SlurmSettings"].get("Dns", {}).get("DisableManagedDns") == "true"
    for node in cluster.nodes:
        for subnet_id in node.subnet_ids:
            tables = ec2.describe_route_tables(Filters=[{"Name": "association.subnet-id", "Values": [subnet_id]}])
            routes = [route for table in tables["RouteTables"] for route in table["Routes"]]
            if any(_leads_out(route, node, subnet_id) for route in routes):
                continue
            if not isolated:
                yield (
                    f"{node.where}: nodes in {subnet_id} reach no AWS endpoint: its default route must lead to a NAT "
                    "gateway, or to an internet gateway when the nodes have public addresses"
                )
            elif missing := sorted(cluster.services.keys() - _endpoints(cluster, subnet_id, routes)):
                yield f"{node.where}: nodes in {subnet_id} reach no {', '.join(missing)}: there is no VPC endpoint"


def _endpoints(cluster: Cluster, subnet_id: str, routes: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the services that a subnet reaches through VPC endpoints."""
    ec2 = boto3.client("ec2")
    vpc_id = ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]["VpcId"]
    found = ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])["VpcEndpoints"]
    targets = {route.get("GatewayId") for route in routes}
    prefix = f"com.amazonaws.{cluster.stack.region}."
    return {
        endpoint["ServiceName"].removeprefix(prefix)
        for endpoint in found
        if endpoint["VpcEndpointId"] in targets or endpoint.get("PrivateDnsEnabled")
    }


def _leads_out(route: Mapping[str, Any], node: Node, subnet_id: str) -> bool:
    if route.get("DestinationCidrBlock") != "0.0.0.0/0":
        return False
    if route.get("NatGatewayId"):
        return True
    has_address = node.section["Networking"].get("ElasticIp", "false") != "false" or _is_public(subnet_id)
    return has_address and str(route.get("GatewayId", "")).startswith("igw-")


def _unreadable_scripts(cluster: Cluster) -> Iterator[str]:
    allows = cache(_allows)  # Most nodes have the same policies.
    for node, url, bucket, key in _s3_scripts(cluster):
        if not node.brings_own_role and not _may_read(node, bucket, key, allows):
            yield f"{node.where}: neither S3Access nor a policy of the nodes lets them read {url}"


def _s3_scripts(cluster: Cluster) -> Iterator[tuple[Node, str, str, str]]:
    for node in cluster.nodes:
        for url in node.scripts:
            address = urlparse(url)
            if address.scheme == "s3":
                yield node, url, address.netloc, address.path.lstrip("/")


def _may_read(node: Node, bucket: str, key: str, allows: Callable[[str, str, str], bool]) -> bool:
    by_access = any(
        access["BucketName"] == bucket and fnmatch.fnmatchcase(key, access.get("KeyName", "*"))
        for access in node.s3_access
    )
    return by_access or any(allows(arn, "s3:GetObject", f"arn:aws:s3:::{bucket}/{key}") for arn in node.policy_arns)


def _allows(policy_arn: str, action: str, resource: str) -> bool:
    """Whether a managed policy has an unconditional statement that allows the action."""
    iam = boto3.client("iam")
    try:
        version = iam.get_policy(PolicyArn=policy_arn)["Policy"]["DefaultVersionId"]
        document = iam.get_policy_version(PolicyArn=policy_arn, VersionId=version)["PolicyVersion"]["Document"]
    except ClientError:
        return False
    return any(
        statement["Effect"] == "Allow"
        and "Condition" not in statement
        and any(fnmatch.fnmatchcase(action.lower(), pattern.lower()) for pattern in _as_list(statement.get("Action")))
        and any(fnmatch.fnmatchcase(resource, pattern) for pattern in _as_list(statement.get("Resource")))
        for statement in _as_list(document["Statement"])
    )


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _capacity_blocks_outside_their_type(cluster: Cluster) -> Iterator[str]:
    ec2 = boto3.client("ec2")
    for queue in cluster.configuration["Scheduling"]["SlurmQueues"]:
        if queue.get("CapacityType") == "CAPACITY_BLOCK":
            continue
        for section in (queue, *queue["ComputeResources"]):
            reservation_id = section.get("CapacityReservationTarget", {}).get("CapacityReservationId")
            if reservation_id is None:
                continue
            try:
                found = ec2.describe_capacity_reservations(CapacityReservationIds=[reservation_id])
            except ClientError:
                continue  # ParallelCluster reports a reservation that is not there.
            if found["CapacityReservations"][0].get("ReservationType") == "capacity-block":
                yield f"queue {queue['Name']}: {reservation_id} is a Capacity Block; CapacityType must say so"


def _closed_lustre_ports(cluster: Cluster) -> Iterator[str]:
    ec2, facts = boto3.client("ec2"), PROVIDER["lustre_ports"]
    all_nodes = list(cluster.nodes)
    subnet_ids = list(dict.fromkeys(subnet for node in all_nodes for subnet in node.subnet_ids))
    groups_by_node = {
        frozenset(
            node.section["Networking"].get("SecurityGroups", [])
            + node.section["Networking"].get("AdditionalSecurityGroups", [])
        )
        for node in all_nodes
    }
    for file_system in _lustre_file_systems(cluster):
        interfaces = ec2.describe_network_interfaces(NetworkInterfaceIds=file_system["NetworkInterfaceIds"])
        for interface in interfaces["NetworkInterfaces"]:
            group_ids = [group["GroupId"] for group in interface["Groups"]]
            closed = [
                str(port)
                for port in facts["tcp"]
                if not _is_access_allowed(group_ids, subnet_ids, port, security_groups_by_nodes=groups_by_node)
            ]
            if closed:
                ports = ", ".join(closed)
                yield f"{file_system['FileSystemId']}: TCP ports {ports} are not open both ways: {facts['why']}"


def _lustre_file_systems(cluster: Cluster) -> list[dict[str, Any]]:
    ids = [
        storage["FsxLustreSettings"]["FileSystemId"]
        for storage in cluster.configuration.get("SharedStorage", [])
        if "FileSystemId" in storage.get("FsxLustreSettings", {})
    ]
    found = boto3.client("fsx").describe_file_systems(FileSystemIds=ids)["FileSystems"] if ids else []
    return [dict(file_system) for file_system in found]
