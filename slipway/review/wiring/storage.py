"""Buckets and file systems: their links, and what AWS takes."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from slipway import facts
from slipway.review.changes.references import references
from slipway.review.wiring.interfaces import CLUSTER
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, literal, rows, texts

_BUCKET, _LINK = "AWS::S3::Bucket", "AWS::FSx::DataRepositoryAssociation"


@rule(
    reason="FSx refuses the second link after the file system was made, and files miss their bucket.",
    fix="Give each link a bucket, or a prefix, and a directory of its own.",
    source='FSx for Lustre user guide, "Linking your file system to an Amazon S3 bucket"',
)
def links_do_not_overlap(resources: Resources) -> Iterator[Finding]:
    """Two links of a file system have neither a bucket or prefix in common nor a directory, or a part of one."""
    for one, other in combinations(resources.of_type(_LINK), 2):
        if one.at("FileSystemId") != other.at("FileSystemId"):
            continue
        mine, others = (f"{str(each.at('FileSystemPath')).rstrip('/')}/" for each in (one, other))
        if mine.startswith(others) or others.startswith(mine):
            yield about(other, "FileSystemPath", f"{one.logical_id} has the same directory, or a part of it")
        mine, others = (str(each.at("DataRepositoryPath")).rstrip("/") for each in (one, other))
        if mine == others:
            yield about(other, "DataRepositoryPath", f"{one.logical_id} has the same bucket or prefix")


@rule(
    reason="FSx refuses the file system.",
    fix="Write a value of the deployment type.",
    source="FSx API reference, CreateFileSystemLustreConfiguration",
)
def file_system_has_a_size_that_exists(resources: Resources) -> Iterator[Finding]:
    """A Lustre file system has a throughput, a capacity and a version of its deployment type."""
    for system in resources.of_type("AWS::FSx::FileSystem"):
        kind = facts.lustre_deployments().get(str(system.at("LustreConfiguration.DeploymentType")))
        if kind is None:
            continue
        path = "LustreConfiguration.PerUnitStorageThroughput"
        throughput, version = system.at(path), system.at("FileSystemTypeVersion")
        if isinstance(throughput, int) and throughput not in kind.throughputs:
            yield about(system, path, f"{kind.name} has {', '.join(map(str, kind.throughputs))}, not {throughput}")
        capacity = system.at("StorageCapacity")
        if isinstance(capacity, int) and not kind.allows_capacity(capacity):
            yield about(system, "StorageCapacity", f"{kind.name} has no size of {capacity} GiB")
        if isinstance(version, str) and version not in kind.lustre_versions:
            yield about(system, "FileSystemTypeVersion", f"{kind.name} has no Lustre {version}")


@rule(
    reason="The policy of another bucket's objects is not that bucket's: AWS refuses it, or nobody has the permission.",
    fix="Write the bucket of the policy into its statements.",
    source='Amazon S3 user guide, "Bucket policies for Amazon S3"',
)
def bucket_policy_is_about_its_bucket(resources: Resources) -> Iterator[Finding]:
    """The resources of a bucket's policy are the bucket and its objects."""
    for policy in resources.of_type("AWS::S3::BucketPolicy"):
        bucket = resources.resource(policy.at("Bucket"), _BUCKET)
        for index, statement in enumerate(rows(policy.at("PolicyDocument.Statement"))):
            named = statement.get("Resource")
            for text in named if isinstance(named, list) else [named]:
                found = resources.referred(str(text).partition("/*")[0]) if isinstance(text, str) else None
                if bucket and found and found[0] is not bucket:
                    path = f"PolicyDocument.Statement.{index}.Resource"
                    yield about(policy, path, f"it is the policy of {bucket.logical_id}, not of {found[0].logical_id}")


@rule(
    reason="The file system refuses every mount.",
    fix="Write the range of the VPC.",
    source='FSx for OpenZFS user guide, "Volume properties", NFS exports',
)
def file_system_is_exported_to_its_vpc(resources: Resources) -> Iterator[Finding]:
    """The addresses to which a file system is exported have its subnets among them."""
    for system in resources.of_type("AWS::FSx::FileSystem"):
        subnets = [resources.resource(value, "AWS::EC2::Subnet") for value in texts(system.at("SubnetIds"))]
        own = [found for subnet in subnets if subnet and (found := _range(subnet.at("CidrBlock")))]
        exports = rows(system.at("OpenZFSConfiguration.RootVolumeConfiguration.NfsExports"))
        clients = [_range(row.get("Clients")) for each in exports for row in rows(each.get("ClientConfigurations"))]
        if own and clients and all(clients) and not any(one and mine.subnet_of(one) for one in clients for mine in own):
            path = "OpenZFSConfiguration.RootVolumeConfiguration.NfsExports"
            yield about(system, path, f"it is exported to {', '.join(map(str, clients))}, and is in {own[0]}")


def _range(value: object) -> IPv4Network | None:
    try:
        return IPv4Network(str(value))
    except ValueError:
        return None


@rule(
    reason="The database refuses the cluster's daemon: the head node is not set up.",
    fix="Write the database's `MasterUsername` as `UserName`.",
    source='AWS ParallelCluster user guide, "SlurmSettings", Database',
)
def cluster_logs_in_as_the_databases_user(resources: Resources) -> Iterator[Finding]:
    """A cluster of ParallelCluster logs in to a database of the stacks as the user that the database has."""
    for cluster in resources.of_type(CLUSTER):
        path = "ClusterConfiguration.Scheduling.SlurmSettings.Database"
        named = {key for key, _ in references(cluster.at(f"{path}.Uri"))}
        for database in resources.of_type("AWS::RDS::DBInstance"):
            one, other = database.at("MasterUsername"), cluster.at(f"{path}.UserName")
            if database.key in named and one and other and one != other:
                yield about(cluster, f"{path}.UserName", f"it is {other}, and {database.logical_id} has {one}")


@rule(
    reason="RDS refuses the database.",
    fix="Write the family of the engine's version.",
    source='Amazon RDS user guide, "Overview of parameter groups"',
)
def parameter_group_is_of_the_version(resources: Resources) -> Iterator[Finding]:
    """A database's parameter group is of the engine and version of the database."""
    for database in resources.of_type("AWS::RDS::DBInstance"):
        group = resources.resource(database.at("DBParameterGroupName"), "AWS::RDS::DBParameterGroup")
        engine, version = literal(database.at("Engine")), literal(database.at("EngineVersion"))
        family = literal(group.at("Family")) if group else None
        if engine and version and family and not f"{engine}{version}.".startswith(f"{family}."):
            yield about(
                database, "DBParameterGroupName", f"the group is of {family}, the database of {engine}{version}"
            )
