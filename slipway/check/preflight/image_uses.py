"""The machine images that the templates of an environment launch instances from, however they name them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from slipway.assembly.instances import NODE_GROUP_LABEL
from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.check.preflight.needs import Needs

_NAMES = yaml.safe_load(Path(__file__).with_name("image_names.yaml").read_text(encoding="utf-8"))
_RELEASE = re.compile(r"/parallelcluster/([0-9.]+)/templates/")
_RESOLVED = "resolve:ssm:"
# What user data of inference hosts says (assets/inference/README.md).
_RUNTIME = re.compile(r"SLIPWAY_NEURON_RUNTIME=([0-9.]+)")
_IMAGE_PARAMETER = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"


@dataclass(frozen=True)
class ImageUse:
    """An image, and who launches from it.

    Attributes:
        stack: name of the stack.
        purpose: who launches, for example `the head node`.
        named_by: what `name` is: an image's id, an SSM parameter that holds one, or a pattern of its name among the
            images of AWS.
        name: id, parameter or pattern.
        instance_type: what is launched; None when the template does not say.
        cluster: ParallelCluster's tags that an image of the user's own must have, with their values; empty of others.
        runtime: Neuron runtime library that the instance_groups' containers have, where the template says it.
        root_volume_gib: size of the root volume, where the template says it.
    """

    stack: str
    purpose: str
    named_by: Literal["id", "parameter", "pattern"]
    name: str
    instance_type: str | None
    cluster: tuple[tuple[str, str], ...] = ()
    runtime: str | None = None
    root_volume_gib: int | None = None


def image_uses(needs: Needs) -> Iterator[ImageUse]:
    """Yield every use of an image in the stacks."""
    for stack, logical_id, properties in needs.resources("AWS::EC2::LaunchTemplate"):
        data = properties["LaunchTemplateData"]
        told = _RUNTIME.search(str(data.get("UserData")))
        use = _named(stack.name, logical_id, data.get("ImageId"), data.get("InstanceType"))
        if use is not None:
            yield replace(use, runtime=told[1]) if told else use
    for stack in needs.stacks:
        for name, parameter in stack.template.get("Parameters", {}).items():
            if parameter["Type"] == _IMAGE_PARAMETER and "Default" in parameter:
                yield ImageUse(stack.name, f"the parameter {name}", "parameter", parameter["Default"], None)
    for stack, logical_id, properties in needs.resources("AWS::EKS::Nodegroup"):
        yield from _of_node_group(stack.name, logical_id, properties)
    for stack, _, properties in needs.resources(CLUSTER_TYPE):
        yield from _of_cluster(stack.name, properties["ClusterConfiguration"], _release(stack.template))


def _named(stack: str, purpose: str, image: object, instance_type: str | None) -> ImageUse | None:
    """Return the image of a launch template; none of a reference to a parameter, which comes with the parameter."""
    if not isinstance(image, str):
        return None
    if image.startswith(_RESOLVED):
        return ImageUse(stack, purpose, "parameter", image.removeprefix(_RESOLVED), instance_type)
    return ImageUse(stack, purpose, "id", image, instance_type)


def _of_node_group(stack: str, logical_id: str, group: Any) -> Iterator[ImageUse]:
    """Yield the image of the EKS release of a node group, `1.35.6-20260714`, which EKS finds by itself."""
    names, version = _NAMES["eks"].get(group.get("AmiType")), group.get("Version")
    release = group.get("ReleaseVersion")
    if names is None or release is None:
        return
    architecture, variant = names["architecture"], names["variant"]
    image = f"amazon-eks-node-al2023-{architecture}-{variant}-{version}-v{release.rpartition('-')[2]}"
    parameter = f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/{architecture}/{variant}/{image}/image_id"
    name = group.get("Labels", {}).get(NODE_GROUP_LABEL, logical_id)
    yield ImageUse(stack, f"node group {name}", "parameter", parameter, None)


def _of_cluster(stack: str, configuration: Any, release: str | None) -> Iterator[ImageUse]:
    head = configuration["HeadNode"]
    custom = configuration["Image"].get("CustomAmi")
    nodes = [("the head node", head, head["InstanceType"])]
    for queue in configuration["Scheduling"]["SlurmQueues"]:
        resource = queue["ComputeResources"][0]
        instance_type = resource.get("InstanceType") or resource["Instances"][0]["InstanceType"]
        nodes.append((f"queue {queue['Name']}", queue, instance_type))
    tags = [("parallelcluster:os", configuration["Image"]["Os"]), ("parallelcluster:version", release)]
    required = tuple((key, value) for key, value in tags if value)
    official = False
    for purpose, section, instance_type in nodes:
        image = section.get("Image", {}).get("CustomAmi") or custom
        if image:
            volume = section.get("LocalStorage", {}).get("RootVolume", {}).get("Size")
            yield ImageUse(stack, purpose, "id", image, instance_type, required, root_volume_gib=volume)
        elif not official and release:
            official = True
            part = _NAMES["parallelcluster"].get(configuration["Image"]["Os"], "*")
            pattern = f"aws-parallelcluster-{release}-{part}-x86_64-*"
            yield ImageUse(stack, "Slurm nodes without an image of their own", "pattern", pattern, instance_type)


def _release(template: Any) -> str | None:
    """Return ParallelCluster's version, which the address of its provider's template names."""
    for resource in template["Resources"].values():
        found = _RELEASE.search(str(resource.get("Properties", {}).get("TemplateURL", "")))
        if found:
            return found[1]
    return None
