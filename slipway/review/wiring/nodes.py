"""Machines: launch templates, the groups that start them, and the clusters that they join."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from slipway import facts
from slipway.review.changes.resources import Resource
from slipway.review.wiring.kubernetes_objects import NODE_GROUP
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, literal, mapping, rows

_TEMPLATE, _GROUP, _CLUSTER = "AWS::EC2::LaunchTemplate", "AWS::AutoScaling::AutoScalingGroup", "AWS::EKS::Cluster"
_DATA = "LaunchTemplateData"
_ROOT_DEVICE = "/dev/xvda"
"""Of Amazon Linux (EC2 user guide, "Device names for volumes on Amazon EC2 instances")."""

_GRAVITON = re.compile(r"[a-z]+\d+g[a-z]*\.|a1\.")
"""Types with AWS's own ARM processors (EC2 user guide, "Amazon EC2 instance type naming conventions")."""

_RESOURCE_TAG = "k8s.io/cluster-autoscaler/node-template/resources/"


def template_of(resources: Resources, group: Resource) -> Resource | None:
    """Return the launch template of an Auto Scaling group or a managed node group."""
    named = mapping(group.at("LaunchTemplate"))
    return resources.resource(named.get("LaunchTemplateId") or named.get("Id"), _TEMPLATE)


def instance_types_of(resources: Resources, group: Resource) -> list[str]:
    """Return the instance types of a group that are written in the templates."""
    template = template_of(resources, group)
    named = group.at("InstanceTypes") or [template.at(f"{_DATA}.InstanceType") if template else None]
    return [name for name in named if isinstance(name, str) and not name.startswith("${")]


@rule(
    reason="EKS refuses the node group, or the add-on.",
    fix="Write a release of the version: all are chosen together.",
    source='Amazon EKS user guide, "Retrieve Amazon Linux AMI version information" and "Manage kube-proxy"',
)
def node_release_is_of_the_version(resources: Resources) -> Iterator[Finding]:
    """The release of a node group's image and the version of kube-proxy are of the cluster's Kubernetes version."""
    for group in resources.of_type(NODE_GROUP):
        cluster = resources.resource(group.at("ClusterName"), _CLUSTER)
        of_cluster = literal(cluster.at("Version")) if cluster else None
        version = literal(group.at("Version")) or of_cluster
        release = literal(group.at("ReleaseVersion"))
        if release and version and not release.startswith(f"{version}."):
            yield about(group, "ReleaseVersion", f"{release} is not a release of Kubernetes {version}")
        if of_cluster and version and _minor(version) > _minor(of_cluster):
            yield about(group, "Version", f"nodes of {version} are newer than the cluster")
    for add_on in resources.of_type("AWS::EKS::Addon"):
        cluster = resources.resource(add_on.at("ClusterName"), _CLUSTER)
        version, own = (literal(cluster.at("Version")) if cluster else None), literal(add_on.at("AddonVersion"))
        if add_on.at("AddonName") == "kube-proxy" and version and own and not own.startswith(f"v{version}."):
            yield about(add_on, "AddonVersion", f"{own} is not for Kubernetes {version}")


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split(".") if number.isdecimal())


@rule(
    reason="Machines of another image have no Neuron driver, or another processor's code: pods get no device.",
    fix="Write `AL2023_x86_64_NEURON` for Neuron types, `AL2023_x86_64_STANDARD` for others.",
    source='Amazon EKS user guide, "Amazon EKS optimized accelerated AMIs"',
)
def image_is_for_the_instance_type(resources: Resources) -> Iterator[Finding]:
    """A node group has an image for its processor, with the Neuron driver for Neuron devices."""
    for group in resources.of_type(NODE_GROUP):
        image = literal(group.at("AmiType")) or ""
        known = [facts.instance_types()[name] for name in _known_types(resources, group)]
        arm = [name for name in instance_types_of(resources, group) if _GRAVITON.match(name)]
        if image.startswith("AL2023") and bool(arm) is not ("_ARM_" in image):
            yield about(group, "AmiType", f"{image} has code for another processor")
        if image.startswith("AL2023") and any(row.neuron_devices for row in known) and not image.endswith("_NEURON"):
            yield about(group, "AmiType", f"{image} has no Neuron driver")


def _known_types(resources: Resources, group: Resource) -> list[str]:
    return [name for name in instance_types_of(resources, group) if name in facts.instance_types()]


@rule(
    severity="warning",
    reason="The root volume keeps the image's small size and fills up; the other volume is paid for and unused.",
    fix="Write the device name of the image's root volume.",
    source='Amazon EC2 user guide, "Device names for volumes on Amazon EC2 instances"',
)
def disk_is_the_root_of_the_image(resources: Resources) -> Iterator[Finding]:
    """The only volume of a launch template for Amazon Linux is the root volume."""
    managed = {id(template_of(resources, group)): group for group in resources.of_type(NODE_GROUP)}
    for template in resources.of_type(_TEMPLATE):
        group = managed.get(id(template))
        of_group = str(group.at("AmiType")) if group else ""
        is_linux = "amazon-linux" in str(template.at(f"{_DATA}.ImageId")) or of_group.startswith("AL2")
        names = [each.get("DeviceName") for each in rows(template.at(f"{_DATA}.BlockDeviceMappings"))]
        if is_linux and names and _ROOT_DEVICE not in names:
            yield about(template, f"{_DATA}.BlockDeviceMappings", f"Amazon Linux boots from {_ROOT_DEVICE}")


@rule(
    reason="EC2 refuses to start the machine.",
    fix="Give the first interface of the first card device 0 and an address; `efa-only` is for the others.",
    source='Amazon EC2 user guide, "Maximize network bandwidth on Amazon EC2 instances with multiple network cards"',
)
def interfaces_can_be_attached(resources: Resources) -> Iterator[Finding]:
    """A launch template has one first interface with an address, each card and device once, and one list of groups."""
    for template in resources.of_type(_TEMPLATE):
        path = f"{_DATA}.NetworkInterfaces"
        interfaces = rows(template.at(path))
        if interfaces and template.at(f"{_DATA}.SecurityGroupIds"):
            yield about(template, f"{_DATA}.SecurityGroupIds", "its interfaces have groups of their own")
        places = [tuple(_index(each, name) for name in ("NetworkCardIndex", "DeviceIndex")) for each in interfaces]
        first = [each for each, place in zip(interfaces, places, strict=True) if place == (0, 0)]
        if interfaces and len(first) != 1:
            yield about(template, path, "it has no first interface, or two")
        if first and first[0].get("InterfaceType") == "efa-only":
            yield about(template, path, "its first interface has no address: it is efa-only")
        if len(set(places)) != len(places):
            yield about(template, path, "two interfaces have the same card and device")
        kind = template.at(f"{_DATA}.InstanceType")
        row = facts.instance_types().get(str(kind))
        efa = [each for each in interfaces if str(each.get("InterfaceType", "")).startswith("efa")]
        if row and (len(efa) > row.efa_interfaces or any(card >= row.network_cards for card, _ in places)):
            yield about(template, path, f"{kind} has {row.network_cards} cards and {row.efa_interfaces} EFA interfaces")


def _index(interface: Mapping[str, Any], name: str) -> int:
    found = str(interface.get(name, 0))
    return int(found) if found.isdecimal() else 0


@rule(
    severity="warning",
    reason="Nodes train over some of their network cards, at a part of the speed that you pay for.",
    fix="Give each network card an EFA interface.",
    source='Amazon EC2 user guide, "Elastic Fabric Adapter"',
)
def every_card_has_efa(resources: Resources) -> Iterator[Finding]:
    """A launch template with EFA has an EFA interface on each network card of its instance type."""
    for template in resources.of_type(_TEMPLATE):
        interfaces = rows(template.at(f"{_DATA}.NetworkInterfaces"))
        cards = {
            _index(each, "NetworkCardIndex")
            for each in interfaces
            if str(each.get("InterfaceType", "")).startswith("efa")
        }
        row = facts.instance_types().get(str(template.at(f"{_DATA}.InstanceType")))
        if row and cards and len(cards) < min(row.network_cards, row.efa_interfaces):
            yield about(template, f"{_DATA}.NetworkInterfaces", f"{len(cards)} of {row.network_cards} cards have EFA")


@rule(
    reason="AWS refuses the group.",
    fix="Write a smallest size of at most the wanted one, and a largest of at least that.",
    source='Amazon EC2 Auto Scaling user guide, "Set scaling limits for your Auto Scaling group"',
)
def group_can_have_its_size(resources: Resources) -> Iterator[Finding]:
    """The size that a group wants is between its smallest and its largest."""
    paths = {
        NODE_GROUP: ("ScalingConfig.MinSize", "ScalingConfig.DesiredSize", "ScalingConfig.MaxSize"),
        _GROUP: ("MinSize", "DesiredCapacity", "MaxSize"),
    }
    for type_, named in paths.items():
        for group in resources.of_type(type_):
            values = [group.at(path) for path in named]
            sizes = [int(value) for value in values if str(value).isdecimal()]
            if sizes != sorted(sizes):
                yield about(group, named[-1], f"smallest, wanted and largest size are {', '.join(map(str, sizes))}")


@rule(
    severity="warning",
    reason="The autoscaler starts no node from zero for pods that a node could hold, or starts nodes that cannot.",
    fix="Write what the instance type has.",
    source="kubernetes/autoscaler, cluster-autoscaler/cloudprovider/aws/README.md, scaling a node group from 0; "
    "slipway/facts/data/instance_types.yaml",
)
def autoscaler_knows_the_nodes_devices(resources: Resources) -> Iterator[Finding]:
    """The autoscaler's tags on a node group name as many Neuron devices and EFA interfaces as its type has."""
    for group in resources.of_type(NODE_GROUP):
        tags = mapping(group.at("Tags"))
        template = template_of(resources, group)
        interfaces = rows(template.at(f"{_DATA}.NetworkInterfaces")) if template else []
        efa = sum(str(each.get("InterfaceType", "")).startswith("efa") for each in interfaces)
        for kind in _known_types(resources, group) if any(_RESOURCE_TAG in key for key in tags) else ():
            devices = facts.instance_types()[kind].neuron_devices
            for name, count in (("aws.amazon.com/neuron", devices), ("vpc.amazonaws.com/efa", efa)):
                tagged = tags.get(f"{_RESOURCE_TAG}{name}")
                if str(tagged or 0) != str(count):
                    yield about(group, "Tags", f"its nodes have {count} {name}, and the tag says {tagged or 'nothing'}")


@rule(
    reason="EC2 refuses to start the machines, or the reserved ones are paid and never used.",
    fix="Write `CAPACITY_BLOCK` for a template with the market type `capacity-block`, and for no other.",
    source='Amazon EKS user guide, "Create a managed node group with Capacity Blocks for ML"',
)
def capacity_is_what_the_template_buys(resources: Resources) -> Iterator[Finding]:
    """A node group's capacity type is the market type of its launch template."""
    for group in resources.of_type(NODE_GROUP):
        template = template_of(resources, group)
        market = literal(template.at(f"{_DATA}.InstanceMarketOptions.MarketType")) if template else None
        bought = literal(group.at("CapacityType") or "ON_DEMAND")
        if template and bought and (market == "capacity-block") is not (bought == "CAPACITY_BLOCK"):
            yield about(group, "CapacityType", f"it is {bought}, and its template buys {market or 'on demand'}")
