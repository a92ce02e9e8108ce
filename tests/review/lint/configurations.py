"""A small configuration that breaks no rule, with surroundings of which everything is known, and changes to both."""

from dataclasses import replace
from typing import Any

from slipway.assembly.cluster import Cluster
from slipway.assembly.context import Context, Subnet
from slipway.assembly.sections import Section, with_open_texts
from tests.config.files import changed

SCRIPT = "s3://own-scripts/cluster/node_configured.sh"
FILE_SYSTEM = "fs-0123456789abcdef0"

MINIMAL: dict[str, Any] = {
    "Region": "us-west-2",
    "Image": {"Os": "ubuntu2204"},
    "HeadNode": {
        "InstanceType": "m6i.2xlarge",
        "Networking": {"SubnetId": "subnet-a"},
        "Ssh": {"AllowedIps": "10.0.0.0/16"},
        "CustomActions": {"OnNodeConfigured": {"Script": SCRIPT}, "OnNodeUpdated": {"Script": SCRIPT}},
        "Iam": {"AdditionalIamPolicies": [{"Policy": "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"}]},
    },
    "Scheduling": {
        "Scheduler": "slurm",
        "SlurmSettings": {"QueueUpdateStrategy": "DRAIN"},
        "SlurmQueues": [
            {
                "Name": "trn1",
                "JobExclusiveAllocation": True,
                "Networking": {"SubnetIds": ["subnet-a"], "PlacementGroup": {"Enabled": True}},
                "ComputeResources": [
                    {"Name": "nodes", "InstanceType": "trn1.32xlarge", "MaxCount": 4, "Efa": {"Enabled": True}}
                ],
                "CustomActions": {"OnNodeConfigured": {"Script": SCRIPT}},
            }
        ],
    },
    "SharedStorage": [
        {
            "Name": "fsx",
            "MountDir": "/fsx",
            "StorageType": "FsxLustre",
            "FsxLustreSettings": {"FileSystemId": FILE_SYSTEM},
        }
    ],
    "Monitoring": {"Logs": {"CloudWatch": {"RetentionInDays": 30, "DeletionPolicy": "Delete"}}},
}

PRIVATE = Subnet(zone_id="usw2-az4", public=False, addresses=251)

KNOWN = Context(
    subnets={"subnet-a": PRIVATE},
    own_buckets={"own-scripts", "own-data"},
    script_urls={SCRIPT},
    file_system_zones={FILE_SYSTEM: "usw2-az4"},
    made_by_provider=True,
    release="3.16.1",
    permissions_boundaries=(),
    vcpu_quotas={"on_demand_trn": 1024, "on_demand_standard": 64, "spot_trn": 1024},
    hourly_ceiling_usd=100.0,
)
"""Surroundings in which MINIMAL stands."""


def cluster(changes: dict[str, Any] | None = None, **context: Any) -> Cluster:
    """MINIMAL with changes (dotted path -> value), in KNOWN with other values."""
    configuration = with_open_texts(changed(MINIMAL, changes or {}), {})
    return Cluster(Section((), configuration), replace(KNOWN, **context))
