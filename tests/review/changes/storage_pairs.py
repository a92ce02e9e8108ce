"""Edits of the network and of what holds data."""

from typing import Any

from tests.review.changes.pairs import Pair, Templates, with_names

FILE_SYSTEM = "AWS::FSx::FileSystem"
BUCKET = "AWS::S3::Bucket"
DATABASE = "AWS::RDS::DBInstance"

OF_THE_FILE_SYSTEM = (
    *("replace storage FSx::DataRepositoryAssociation",) * 2,
    "update training Custom::PclusterCluster",
)
"""What refers to /fsx in the default environment."""


def updated(stack: str, resource_type: str, **properties: Any) -> Any:
    """An edit that sets properties of the first resource of a type."""
    return lambda templates: templates.properties(stack, resource_type).update(properties)


def _another_range(templates: Templates) -> None:
    templates.properties("network", "AWS::EC2::VPC")["CidrBlock"] = "10.99.0.0/16"


def _scratch(templates: Templates) -> None:
    templates.properties("storage", FILE_SYSTEM)["LustreConfiguration"] = {"DeploymentType": "SCRATCH_2"}


def _throughput(templates: Templates) -> None:
    templates.properties("storage", FILE_SYSTEM)["LustreConfiguration"]["PerUnitStorageThroughput"] = 500


def _kept(templates: Templates) -> None:
    resource = templates.of_type("storage", FILE_SYSTEM)
    resource["UpdateReplacePolicy"] = resource["DeletionPolicy"] = "Retain"


def _without_bucket(templates: Templates) -> None:
    templates.remove("network", "Custom::S3AutoDeleteObjects", "AWS::S3::BucketPolicy", BUCKET)


def _without_kept_bucket(templates: Templates) -> None:
    templates.remove("storage", "AWS::S3::BucketPolicy", BUCKET)


def _renamed(templates: Templates) -> None:
    with_names(templates, {"LustreFileSystem46590C25": "Files"})


def _database_storage(templates: Templates) -> None:
    templates.properties("storage", DATABASE)["AllocatedStorage"] = "40"


def _without_database(templates: Templates) -> None:
    templates.remove("storage", DATABASE)


def _database_snapshot(templates: Templates) -> None:
    templates.of_type("storage", DATABASE)["DeletionPolicy"] = "Snapshot"


def _with_default_policy(templates: Templates) -> None:
    del templates.of_type("storage", DATABASE)["DeletionPolicy"]


PAIRS = (
    Pair(
        "the file system grows",
        "default",
        updated("storage", FILE_SYSTEM, StorageCapacity=9600),
        own=("update storage FSx::FileSystem",),
    ),
    Pair(
        "a tag",
        "default",
        updated("storage", FILE_SYSTEM, Tags=[{"Key": "owner", "Value": "research"}]),
        own=("update storage FSx::FileSystem",),
    ),
    Pair("the file system gets faster", "default", _throughput, own=("update storage FSx::FileSystem",)),
    Pair(
        "the file system becomes scratch",
        "default",
        _scratch,
        own=("replace storage FSx::FileSystem with its data",),
        folded=OF_THE_FILE_SYSTEM,
    ),
    Pair(
        "the file system becomes scratch, the old one stays",
        "default",
        _scratch,
        own=("replace storage FSx::FileSystem",),
        folded=OF_THE_FILE_SYSTEM,
        prepare=_kept,
    ),
    Pair(
        "the file system's storage becomes another",
        "default",
        updated("storage", FILE_SYSTEM, StorageType="HDD"),
        own=("replace storage FSx::FileSystem with its data",),
        folded=OF_THE_FILE_SYSTEM,
    ),
    Pair(
        "the file system's policy alone",
        "default",
        _kept,
        own=("update storage FSx::FileSystem",),
    ),
    Pair(
        "the file system's logical id",
        "default",
        _renamed,
        own=("replace storage FSx::FileSystem with its data",),
        folded=OF_THE_FILE_SYSTEM,
    ),
    Pair(
        "a bucket goes where data are ephemeral",
        "small",
        _without_bucket,
        own=(
            "remove network Custom::S3AutoDeleteObjects",
            "remove network S3::Bucket with its data",
            "remove network S3::BucketPolicy",
        ),
    ),
    Pair(
        "a bucket goes where data are kept",
        "ultracluster",
        _without_kept_bucket,
        own=("orphan storage S3::Bucket", "orphan storage S3::BucketPolicy"),
    ),
    Pair(
        "the database's class",
        "team",
        updated("storage", DATABASE, DBInstanceClass="db.m6g.large"),
        own=("update storage RDS::DBInstance",),
    ),
    Pair("the database grows", "team", _database_storage, own=("update storage RDS::DBInstance",)),
    Pair(
        "the database in two zones",
        "team",
        updated("storage", DATABASE, MultiAZ=True),
        own=("may_replace storage RDS::DBInstance",),
    ),
    Pair("the database goes", "team", _without_database, own=("remove storage RDS::DBInstance with its data",)),
    Pair(
        "the database goes and leaves a snapshot",
        "team",
        _without_database,
        own=("remove storage RDS::DBInstance",),
        prepare=_database_snapshot,
    ),
    Pair(
        "the database goes and no policy says how",
        "team",
        _without_database,
        own=("remove storage RDS::DBInstance",),
        prepare=_with_default_policy,
    ),
)
