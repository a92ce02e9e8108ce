"""The ARNs of what CloudFormation makes from a template, with the names that it makes up."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from slipway.check.deploy_role.names import STACK_NAME_CHARACTERS

ACCOUNT = "111122223333"
UUID = "0c5a1c90-6d1e-11f0-9d3a-0a1b2c3d4e5f"
NESTED = "AWS::CloudFormation::Stack"


@dataclass(frozen=True)
class Naming:
    """How the ARN of a type ends.

    Attributes:
        service: IAM's name of its service.
        kind: the reference's name of its kind of resource.
        property: the property with its name.
        longest: how long a name may be that CloudFormation makes up, in characters.
        within: property that names what the resource is in; its name comes before the resource's own.
        suffix: what follows the name.
        identity: what exists between the name of what it is in and its own.
    """

    service: str
    kind: str
    property: str = ""
    longest: int = 255
    within: str = ""
    suffix: str = ""
    identity: str = ""


NAMINGS = {
    "AWS::Budgets::Budget": Naming("budgets", "budget"),
    NESTED: Naming("cloudformation", "stack", longest=128, suffix=f"/{UUID}"),
    "AWS::EKS::AccessEntry": Naming(
        "eks", "access-entry", within="ClusterName", suffix=f"/{UUID}", identity=f"role/{ACCOUNT}/"
    ),
    "AWS::EKS::Addon": Naming("eks", "addon", "AddonName", within="ClusterName", suffix=f"/{UUID}"),
    "AWS::EKS::Cluster": Naming("eks", "cluster", "Name", 100),
    "AWS::EKS::Nodegroup": Naming("eks", "nodegroup", "NodegroupName", 63, "ClusterName", f"/{UUID}"),
    "AWS::EKS::PodIdentityAssociation": Naming("eks", "podidentityassociation", within="ClusterName"),
    "AWS::IAM::InstanceProfile": Naming("iam", "instance-profile", "InstanceProfileName", 128),
    "AWS::IAM::ManagedPolicy": Naming("iam", "policy", "ManagedPolicyName", 128),
    "AWS::IAM::Role": Naming("iam", "role", "RoleName", 64),
    "AWS::Lambda::Function": Naming("lambda", "function", "FunctionName", 64),
    "AWS::S3::Bucket": Naming("s3", "bucket", "BucketName", 63),
    "AWS::SNS::Topic": Naming("sns", "topic", "TopicName", 256),
}
"""The types whose actions the policies hold to names, save those that Parameter Store and Route 53 hold. Source: the
user guides' "ARN" of each type; limits of names from their APIs. As of 2026-11-22."""

PROVIDER: Mapping[str, Any] = {
    "CleanupS3bucketFunction": {"Type": "AWS::Lambda::Function"},
    "EventsPolicy": {"Type": "AWS::IAM::ManagedPolicy"},
    "PclusterCfnFunction": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": f"pcluster-cfn-{UUID}"}},
    "PclusterCustomResourceBucket": {"Type": "AWS::S3::Bucket"},
    "PclusterLambdaRole": {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {"Statement": [{"Principal": {"Service": "lambda.amazonaws.com"}}]},
        },
    },
    "PclusterPolicies": {"Type": NESTED},
    "S3Policy": {"Type": "AWS::IAM::ManagedPolicy"},
}
"""What the template of the ParallelCluster provider makes with names (aws/aws-parallelcluster @451cc532,
cloudformation/custom_resource/cluster.yaml)."""

PROVIDER_POLICIES: Mapping[str, Any] = {
    name: {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"ManagedPolicyName": f"{name}-{UUID[:8]}"}}
    for name in (
        "DefaultParallelClusterIamAdminPolicy",
        "ParallelClusterClusterPolicy1",
        "ParallelClusterClusterPolicy2",
        "ParallelClusterImageManagedPolicy",
        "ParallelClusterLogRetrievalPolicy",
    )
} | {
    "ParallelClusterLambdaRole": {
        "Type": "AWS::IAM::Role",
        "Properties": {"RoleName": f"ParallelClusterLambdaRole-{UUID[:8]}"},
    }
}
"""What the template nested in that one makes (same source, cloudformation/policies/parallelcluster-policies.yaml, with
the parameters of cluster.yaml). Nothing in either template passes its role to a service."""


@dataclass(frozen=True)
class Made:
    """A resource as IAM sees it."""

    kind: tuple[str, str]
    arn: str
    properties: Mapping[str, Any] = field(default_factory=dict, compare=False)


@cache
def reference() -> Mapping[str, Any]:
    """The Service Authorization Reference."""
    text = (files("cfnlint") / "data" / "AdditionalSpecs" / "Policies.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def arn(kind: tuple[str, str], name: str, region: str) -> str:
    """The ARN of a kind of resource, by the reference's format."""
    (form,) = reference()[kind[0]]["Resources"][kind[1]]["ARNFormats"]
    filled = form.replace("${Partition}", "aws").replace("${Region}", region).replace("${Account}", ACCOUNT)
    return str(filled).replace(".*", name)


def made_up(stack: str, logical_id: str, longest: int) -> str:
    """A name as CloudFormation makes it up: both parts cut where they do not fit, and 12 characters of its own."""
    random_part = hashlib.sha256(f"{stack} {logical_id}".encode()).hexdigest()[:12].upper()
    if len(stack) + len(logical_id) + len(random_part) + 2 > longest:
        stack = stack[:STACK_NAME_CHARACTERS]
        logical_id = logical_id[: longest - len(stack) - len(random_part) - 2]
    return f"{stack}-{logical_id}-{random_part}"


def name_of(stack: str, resources: Mapping[str, Any], logical_id: str) -> str:
    """The physical name of a resource."""
    resource = resources[logical_id]
    naming, properties = NAMINGS[resource["Type"]], resource.get("Properties", {})
    name = properties.get(naming.property) or made_up(stack, logical_id, naming.longest)
    assert isinstance(name, str), f"{logical_id} has a name that only the deployment knows: {name}"
    if naming.within:
        name = f"{name_of(stack, resources, properties[naming.within]['Ref'])}/{naming.identity}{name}"
    return name.lower() if resource["Type"] == "AWS::S3::Bucket" else name


def made_by(stack: str, resources: Mapping[str, Any], region: str) -> Iterator[Made]:
    """Yield the resources of a template, and of those of AWS's that it nests."""
    yield Made(("cloudformation", "stack"), arn(("cloudformation", "stack"), f"{stack}/{UUID}", region))
    for logical_id, resource in resources.items():
        if resource["Type"] not in NAMINGS:
            continue
        naming, properties = NAMINGS[resource["Type"]], resource.get("Properties", {})
        name, path = name_of(stack, resources, logical_id), properties.get("Path", "/").removeprefix("/")
        kind = (naming.service, naming.kind)
        yield Made(kind, arn(kind, path + name + naming.suffix, region), properties)
        if resource["Type"] == NESTED:
            change_set = ("cloudformation", "changeset")
            yield Made(change_set, arn(change_set, f"cdk-deploy-change-set/{UUID}", region))
            yield from made_by(name, PROVIDER if resources is not PROVIDER else PROVIDER_POLICIES, region)
