"""The launch templates of compute nodes that ParallelCluster built, out of the stack that it nests for the queues."""

import json
from typing import Any
from urllib.parse import urlparse

import boto3

_QUEUE_TAG = "parallelcluster:queue-name"
_COMPUTE_RESOURCE_TAG = "parallelcluster:compute-resource-name"
_NOT_TOLD = ("UserData", "TagSpecifications")


def launch_templates(template_url: str) -> dict[str, Any]:
    """Read what a built cluster would launch its compute nodes with.

    Args:
        template_url: where ParallelCluster stored the cluster's template; those of nested stacks are stored beside it.

    Returns:
        `LaunchTemplateData`, without user data and tags, by `queue/compute resource`.
    """
    address = urlparse(template_url)
    bucket, folder = address.netloc.split(".s3.")[0], address.path.lstrip("/").rpartition("/templates/")[0]
    s3, found = boto3.client("s3"), {}
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=f"{folder}/assets/").get("Contents", [])
    for item in listed:
        nested = json.loads(s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read())
        for resource in nested["Resources"].values():
            if resource["Type"] == "AWS::EC2::LaunchTemplate":
                data = resource["Properties"]["LaunchTemplateData"]
                tags = _instance_tags(data)
                if _QUEUE_TAG in tags:
                    name = f"{tags[_QUEUE_TAG]}/{tags[_COMPUTE_RESOURCE_TAG]}"
                    found[name] = {key: value for key, value in data.items() if key not in _NOT_TOLD}
    return found


def _instance_tags(data: dict[str, Any]) -> dict[str, str]:
    return {
        tag["Key"]: tag["Value"]
        for specification in data.get("TagSpecifications", [])
        if specification["ResourceType"] == "instance"
        for tag in specification["Tags"]
    }
