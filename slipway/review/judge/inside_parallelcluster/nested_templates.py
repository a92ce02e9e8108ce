"""What ParallelCluster built: the stacks that the cluster's own nests, for its queues, login nodes and dashboard."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlparse

import boto3

_QUEUE_TAG = "parallelcluster:queue-name"
_COMPUTE_RESOURCE_TAG = "parallelcluster:compute-resource-name"


def stored_file(template_url: str, path: str) -> str:
    """Return a file that ParallelCluster stored for the cluster.

    Args:
        template_url: where ParallelCluster stored the cluster's template; its other files are stored beside it.
        path: of the file, for example `configs/instance-types-data.json`.
    """
    bucket, folder = _bucket_and_folder(template_url)
    text: str = boto3.client("s3").get_object(Bucket=bucket, Key=f"{folder}/{path}")["Body"].read().decode()
    return text


def nested_templates(template_url: str) -> Iterator[dict[str, Any]]:
    """Yield the templates of nested stacks.

    Args:
        template_url: where ParallelCluster stored the cluster's template; those of nested stacks are stored beside it.
    """
    bucket, folder = _bucket_and_folder(template_url)
    s3 = boto3.client("s3")
    for item in s3.list_objects_v2(Bucket=bucket, Prefix=f"{folder}/assets/").get("Contents", []):
        yield json.loads(s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read())


def launch_templates(nested: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a built cluster would launch its compute nodes with.

    Args:
        nested: templates of the nested stacks.

    Returns:
        `LaunchTemplateData`, without user data, by `queue/compute resource`.
    """
    found = {}
    for template in nested:
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::EC2::LaunchTemplate":
                data = resource["Properties"]["LaunchTemplateData"]
                tags = _instance_tags(data)
                if _QUEUE_TAG in tags:
                    name = f"{tags[_QUEUE_TAG]}/{tags[_COMPUTE_RESOURCE_TAG]}"
                    found[name] = {key: value for key, value in data.items() if key != "UserData"}
    return found


def resource_types(templates: list[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many resources of each type templates have."""
    return dict(Counter(resource["Type"] for template in templates for resource in template["Resources"].values()))


def role_policies(templates: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the statements of the policies in templates, by the logical id of the role that has them.

    A role that a nested stack gets as a parameter is left out: its policies there are those of its own stack.
    """
    found: dict[str, list[Any]] = {}
    for template in templates:
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::IAM::Policy":
                for role in resource["Properties"]["Roles"]:
                    found.setdefault(role["Ref"], []).extend(resource["Properties"]["PolicyDocument"]["Statement"])
    return found


def _bucket_and_folder(template_url: str) -> tuple[str, str]:
    address = urlparse(template_url)
    return address.netloc.split(".s3.")[0], address.path.lstrip("/").rpartition("/templates/")[0]


def _instance_tags(data: dict[str, Any]) -> dict[str, str]:
    return {
        tag["Key"]: tag["Value"]
        for specification in data.get("TagSpecifications", [])
        if specification["ResourceType"] == "instance"
        for tag in specification["Tags"]
    }
