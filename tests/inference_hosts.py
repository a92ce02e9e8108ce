"""Inference hosts in a stack of their own, with the user data that CloudFormation would make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3

from neuron_constructs.inference.hosts import InferentiaHosts, InferentiaHostsProps
from neuron_constructs.inference.model import LocalCopy, Model, MountedBucket, MountedLustre

SCRIPTS = Path(__file__).parent.parent / "assets" / "inference"
SOURCES: Mapping[str, MountedBucket | LocalCopy | MountedLustre] = {
    "mountpoint": MountedBucket(),
    "sync": LocalCopy(volume_gib=200, throughput_mib_s=1000),
    "lustre": MountedLustre(
        dns_name="fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
        mount_name="abcdefgh",
        directory="/models",
        client_group_id="sg-0123456789abcdef0",
    ),
}
# What CloudFormation puts in the place of what only the deployment knows.
DEPLOYED = {
    "AWS::Region": "us-west-2",
    "AWS::AccountId": "111122223333",
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
}

_OF_MODEL = ("source", "is_published", "is_chosen", "prefix")


@dataclass
class Hosts:
    """A synthesized stack with hosts."""

    stack: cdk.Stack
    hosts: InferentiaHosts

    @cached_property
    def template(self) -> assertions.Template:
        """The template."""
        return assertions.Template.from_stack(self.stack)

    def resources(self, kind: str) -> dict[str, Any]:
        """The resources of a type, by logical id."""
        return dict(self.template.find_resources(kind))

    def resource(self, kind: str) -> Any:
        """The only resource of a type: its properties."""
        (found,) = self.resources(kind).values()
        return found["Properties"]

    @property
    def launch_template(self) -> Any:
        """What hosts are launched with."""
        return self.resource("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]

    @property
    def user_data(self) -> str:
        """The user data, with names in the place of references."""
        return resolved(self.launch_template["UserData"]["Fn::Base64"])


def resolved(value: Any) -> str:
    """Return a text of a template as CloudFormation would write it; a reference becomes the logical id in small."""
    if isinstance(value, str):
        return value
    if "Ref" in value:
        return DEPLOYED.get(value["Ref"], str(value["Ref"]).lower())
    if "Fn::Sub" in value:
        text: str = value["Fn::Sub"]
        for name, known in DEPLOYED.items():
            text = text.replace(f"${{{name}}}", known)
        return text
    separator, parts = value["Fn::Join"]
    joined: str = separator.join(resolved(part) for part in parts)
    return joined


def hosts(app: cdk.App | None = None, **changes: Any) -> Hosts:
    """Return the hosts of one inf2.xlarge service with the model `tanuki-8b/v1`, changed as the arguments say.

    Args:
        app: the app; a new one where there is none.
        changes: fields of `InferentiaHostsProps`, or of its model; a function makes the value in the stack.
    """
    stack = cdk.Stack(app, "Inference", env=cdk.Environment(account="111122223333", region="us-west-2"))
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    model = Model(
        bucket=s3.Bucket.from_bucket_name(stack, "Models", "llm-models"),
        reader_policy=iam.ManagedPolicy.from_managed_policy_name(stack, "Reader", "model-reader"),
        prefix="tanuki-8b/v1",
        name="tanuki-8b",
    )
    of_model = {name: changes.pop(name) for name in _OF_MODEL if name in changes}
    # Parameters and conditions are made in the stack.
    of_model |= {name: made(stack) for name, made in of_model.items() if callable(made)}
    props = InferentiaHostsProps(
        vpc=vpc,
        subnets=vpc.private_subnets,
        cluster=ecs.Cluster(stack, "Cluster", vpc=vpc, cluster_name="llm"),
        service_name="tanuki-8b",
        instance_type="inf2.xlarge",
        machine_image=ec2.MachineImage.generic_linux({"us-west-2": "ami-0123456789abcdef0"}),
        neuron_runtime="2.26.42.0",
        image="ghcr.io/huggingface/text-generation-inference:3.3.5-neuron",
        image_needs_log_in=False,
        max_count=2,
        kept_during_update=1,
        warm_pool_count=0,
        set_up_scripts=SCRIPTS,
        model=replace(model, **of_model),
        metrics_namespace="Slipway/Inference",
        log_retention=logs.RetentionDays.ONE_MONTH,
    )
    return Hosts(stack, InferentiaHosts(stack, "Hosts", replace(props, **changes)))
