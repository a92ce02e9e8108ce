"""File systems, their links to buckets, and databases."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from slipway import facts
from slipway.review.changes.references import references
from slipway.review.wiring.interfaces import CLUSTER
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, literal, mapping, rows, texts

_BUCKET, _LINK = "AWS::S3::Bucket", "AWS::FSx::DataRepositoryAssociation"


@rule(
    reason="FSx refuses the second association after it has created the file system.",
    fix="Give each association its own bucket or prefix, and its own directory.",
    source='FSx for Lustre user guide, "Linking your file system to an Amazon S3 bucket"',
)
def links_do_not_overlap(resources: Resources) -> Iterator[Finding]:
    """Data repository associations of a file system have different buckets or prefixes, and separate directories."""
    for one, other in combinations(resources.of_type(_LINK), 2):
        if one.at("FileSystemId") != other.at("FileSystemId"):
            continue
        mine, others = (f"{str(each.at('FileSystemPath')).rstrip('/')}/" for each in (one, other))
        if mine.startswith(others) or others.startswith(mine):
            yield about(other, "FileSystemPath", f"the directory overlaps that of {one.logical_id}")
        mine, others = (str(each.at("DataRepositoryPath")).rstrip("/") for each in (one, other))
        if mine == others:
            yield about(other, "DataRepositoryPath", f"the bucket or prefix is that of {one.logical_id}")


@rule(
    reason="FSx refuses the file system.",
    fix="Write a value that the deployment type allows.",
    source="FSx API reference, CreateFileSystemLustreConfiguration",
)
def file_system_has_a_size_that_exists(resources: Resources) -> Iterator[Finding]:
    """The throughput, capacity and version of a Lustre file system are ones that its deployment type allows."""
    for system in resources.of_type("AWS::FSx::FileSystem"):
        kind = facts.lustre_deployments().get(str(system.at("LustreConfiguration.DeploymentType")))
        if kind is None:
            continue
        path = "LustreConfiguration.PerUnitStorageThroughput"
        throughput, version = system.at(path), system.at("FileSystemTypeVersion")
        if isinstance(throughput, int) and throughput not in kind.throughputs:
            yield about(system, path, f"{kind.name} allows {', '.join(map(str, kind.throughputs))}, not {throughput}")
        capacity = system.at("StorageCapacity")
        if isinstance(capacity, int) and not kind.allows_capacity(capacity):
            yield about(system, "StorageCapacity", f"{kind.name} does not allow {capacity} GiB")
        if isinstance(version, str) and version not in kind.lustre_versions:
            yield about(system, "FileSystemTypeVersion", f"{kind.name} does not allow Lustre {version}")


@rule(
    reason="The file system refuses every mount.",
    fix="Write the CIDR block of the VPC.",
    source='FSx for OpenZFS user guide, "Volume properties", NFS exports',
)
def file_system_is_exported_to_its_vpc(resources: Resources) -> Iterator[Finding]:
    """A file system is exported to addresses that include its own subnet."""
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
    reason="The database refuses slurmdbd: the set-up of the head node fails.",
    fix="Write the database's `MasterUsername` as the cluster's `UserName`.",
    source='AWS ParallelCluster user guide, "SlurmSettings", Database',
)
def cluster_logs_in_as_the_databases_user(resources: Resources) -> Iterator[Finding]:
    """A ParallelCluster cluster logs in to its accounting database as that database's user."""
    for cluster in resources.of_type(CLUSTER):
        path = "ClusterConfiguration.Scheduling.SlurmSettings.Database"
        named = {key for key, _ in references(cluster.at(f"{path}.Uri"))}
        for database in resources.of_type("AWS::RDS::DBInstance"):
            one, other = database.at("MasterUsername"), cluster.at(f"{path}.UserName")
            if database.key in named and one and other and one != other:
                yield about(cluster, f"{path}.UserName", f"it is {other}, and {database.logical_id} has {one}")


@rule(
    reason="RDS refuses the database.",
    fix="Write the parameter group family of the engine version.",
    source='Amazon RDS user guide, "Overview of parameter groups"',
)
def parameter_group_is_of_the_version(resources: Resources) -> Iterator[Finding]:
    """The family of a database's parameter group matches the engine version."""
    for database in resources.of_type("AWS::RDS::DBInstance"):
        group = resources.resource(database.at("DBParameterGroupName"), "AWS::RDS::DBParameterGroup")
        engine, version = literal(database.at("Engine")), literal(database.at("EngineVersion"))
        family = literal(group.at("Family")) if group else None
        if engine and version and family and not f"{engine}{version}.".startswith(f"{family}."):
            yield about(
                database, "DBParameterGroupName", f"the family is {family}, and the database is {engine}{version}"
            )


@rule(
    reason="RDS refuses the password: the deployment fails if the random password has one of these characters.",
    fix='Write `ExcludePunctuation: true`, or `/`, `@` and `"` into `ExcludeCharacters`.',
    source='Amazon RDS API reference, "CreateDBInstance", MasterUserPassword',
)
def database_takes_its_password(resources: Resources) -> Iterator[Finding]:
    """A secret that is generated for a database has none of the characters that RDS refuses."""
    for database in resources.of_type("AWS::RDS::DBInstance"):
        for key, _ in references(database.at("MasterUserPassword")):
            made = mapping(resources.by_key[key].at("GenerateSecretString")) if key in resources.by_key else {}
            excluded = str(made.get("ExcludeCharacters", ""))
            if made and made.get("ExcludePunctuation") is not True and not set('/@"') <= set(excluded):
                yield about(resources.by_key[key], "GenerateSecretString", "RDS refuses some of its passwords")
