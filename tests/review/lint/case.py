"""One line or more for each rule: a change that breaks it, and a near one that is allowed."""

from dataclasses import dataclass, field, replace
from typing import Any

from tests.review.lint.configurations import FILE_SYSTEM, PRIVATE

Changes = dict[str, Any]

HEAD = "HeadNode"
QUEUE = "Scheduling.SlurmQueues.0"
RESOURCE = f"{QUEUE}.ComputeResources.0"
SETTINGS = "Scheduling.SlurmSettings"
LOGS = "Monitoring.Logs.CloudWatch"
POLICIES = "HeadNode.Iam.AdditionalIamPolicies.1"
POOL = "LoginNodes.Pools"


@dataclass(frozen=True)
class Case:
    """A rule with a change of the minimal configuration that breaks it, and one that does not."""

    rule: str
    breaking: Changes
    message: str
    allowed: Changes = field(default_factory=dict)
    surroundings: Changes = field(default_factory=dict)
    """What else is known, for the breaking and the allowed change."""

    also: frozenset[str] = frozenset()
    """Other rules that the breaking change cannot help breaking."""


def login_pool(**keys: Any) -> Changes:
    """Return the changes that add a pool of login nodes."""
    pool = {"Name": "login", "InstanceType": "m6i.large", "Count": 1, "Networking": {"SubnetIds": ["subnet-a"]}}
    return {"LoginNodes": {"Pools": [{**pool, **keys}]}}


def storage(kind: str, mount: str = "/data", **settings: Any) -> Changes:
    """Return the changes that add shared storage."""
    section = {"FsxLustre": "FsxLustreSettings", "Efs": "EfsSettings", "Ebs": "EbsSettings"}[kind]
    return {"SharedStorage.1": {"Name": "data", "MountDir": mount, "StorageType": kind, section: settings}}


def policy(arn: Any) -> Changes:
    """Return the change that gives the head node a second policy."""
    return {POLICIES: {"Policy": arn}}


def s3_access(**keys: Any) -> Changes:
    """Return the change that gives the queue's nodes access to a bucket."""
    return {f"{QUEUE}.Iam": {"S3Access": [{"BucketName": "own-data", **keys}]}}


def in_zone(zone_id: str, file_system_zone_id: str = "") -> Changes:
    """Return surroundings in which the subnet, and the file system if it is not elsewhere, is in a zone."""
    return {
        "subnets": {"subnet-a": replace(PRIVATE, zone_id=zone_id)},
        "file_system_zones": {FILE_SYSTEM: file_system_zone_id or zone_id},
    }


def small_queues(count: int, resources: int = 1) -> list[Changes]:
    """Return many queues of nodes without accelerator."""
    nodes = [{"Name": f"r{number}", "InstanceType": "m6i.large", "MaxCount": 1} for number in range(resources)]
    networking = {"SubnetIds": ["subnet-a"]}
    return [{"Name": f"q{n}", "Networking": networking, "ComputeResources": nodes} for n in range(count)]


PERSISTENT = {"DeploymentType": "PERSISTENT_2", "DeletionPolicy": "Retain"}
RESERVED = {f"{QUEUE}.CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}}
UNGROUPED = {f"{QUEUE}.Networking.PlacementGroup": {"Enabled": False}}
BLOCK = {**RESERVED, **UNGROUPED, f"{QUEUE}.CapacityType": "CAPACITY_BLOCK"}
TRN2 = {
    "Region": "us-east-2",
    f"{RESOURCE}.InstanceType": "trn2.48xlarge",
    "Image.Os": "ubuntu2404",
}
IN_OHIO = {
    "subnets": {"subnet-a": replace(PRIVATE, zone_id="use2-az1")},
    "file_system_zones": {FILE_SYSTEM: "use2-az1"},
}
PUBLIC = {"subnets": {"subnet-a": replace(PRIVATE, public=True)}}
