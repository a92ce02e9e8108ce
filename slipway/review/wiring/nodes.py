"""EC2 instances: launch templates, Auto Scaling groups and node groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from slipway import facts
from slipway.review.changes.references import strings
from slipway.review.changes.resources import Resource
from slipway.review.wiring.interfaces import CLUSTER, LAUNCH_TEMPLATE, efa_interfaces, launch_template
from slipway.review.wiring.kubernetes_objects import NODE_GROUP
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, literal, mapping, rows

_GROUP, _CLUSTER = "AWS::AutoScaling::AutoScalingGroup", "AWS::EKS::Cluster"
_DATA = "LaunchTemplateData"
_ROOT_DEVICE = "/dev/xvda"
"""Of Amazon Linux (EC2 user guide, "Device names for volumes on Amazon EC2 instances")."""

_LOCKED_MEMORY = re.compile(r"RLIMIT_MEMLOCK\s+soft: (\d+)")
_EXPECTED_DEVICES = re.compile(r"([a-z0-9-]+\.[a-z0-9]+)=(\d+):(\d+)")
_RESOURCE_TAG = "k8s.io/cluster-autoscaler/node-template/resources/"


def instance_types_of(resources: Resources, group: Resource) -> list[str]:
    """Return the instance types of a group that are written in the templates."""
    template = launch_template(resources, group)
    named = group.at("InstanceTypes") or [template.at(f"{_DATA}.InstanceType") if template else None]
    return [name for name in named if isinstance(name, str) and not name.startswith("${")]


def known_types_of(resources: Resources, group: Resource) -> list[facts.InstanceType]:
    """Return those of a group's instance types of which Slipway knows the devices."""
    known = facts.instance_types()
    return [known[name] for name in instance_types_of(resources, group) if name in known]


@rule(
    reason="EKS refuses the node group, or the add-on.",
    fix="Write a release of the cluster's Kubernetes version.",
    source='Amazon EKS user guide, "Retrieve Amazon Linux AMI version information" and "Manage kube-proxy"',
)
def node_release_is_of_the_version(resources: Resources) -> Iterator[Finding]:
    """AMI releases of node groups, and kube-proxy, match the Kubernetes version of the cluster."""
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
    reason="The instances do not boot, or have no Neuron driver: pods get no devices.",
    fix="Write `AL2023_x86_64_NEURON` for Neuron types, `AL2023_x86_64_STANDARD` for others.",
    source='Amazon EKS user guide, "Amazon EKS optimized accelerated AMIs"',
)
def image_is_for_the_instance_type(resources: Resources) -> Iterator[Finding]:
    """A node group's AMI type matches the processor of its instance type, and has the Neuron driver if needed."""
    for group in resources.of_type(NODE_GROUP):
        image = literal(group.at("AmiType")) or ""
        known = known_types_of(resources, group)
        is_arm = any(facts.unpriced_architecture(name) == "arm64" for name in instance_types_of(resources, group))
        if image.startswith("AL2023") and is_arm is not ("_ARM_" in image):
            yield about(group, "AmiType", f"{image} is for another processor architecture")
        if image.startswith("AL2023") and any(row.neuron_devices for row in known) and not image.endswith("_NEURON"):
            yield about(group, "AmiType", f"{image} has no Neuron driver")


@rule(
    severity="warning",
    reason="The root volume keeps the AMI's small size and fills up; the other volume is billed and unused.",
    fix="Write the device name of the AMI's root volume.",
    source='Amazon EC2 user guide, "Device names for volumes on Amazon EC2 instances"',
)
def disk_is_the_root_of_the_image(resources: Resources) -> Iterator[Finding]:
    """A launch template for Amazon Linux maps the root volume."""
    managed = {id(launch_template(resources, group)): group for group in resources.of_type(NODE_GROUP)}
    for template in resources.of_type(LAUNCH_TEMPLATE):
        group = managed.get(id(template))
        of_group = str(group.at("AmiType")) if group else ""
        is_linux = "amazon-linux" in str(template.at(f"{_DATA}.ImageId")) or of_group.startswith("AL2")
        names = [each.get("DeviceName") for each in rows(template.at(f"{_DATA}.BlockDeviceMappings"))]
        if is_linux and names and _ROOT_DEVICE not in names:
            yield about(template, f"{_DATA}.BlockDeviceMappings", f"Amazon Linux boots from {_ROOT_DEVICE}")


@rule(
    reason="EC2 refuses to launch the instance.",
    fix="Give the primary interface card 0 and device 0. Use `efa-only` for other interfaces only.",
    source='Amazon EC2 user guide, "Maximize network bandwidth on Amazon EC2 instances with multiple network cards"',
)
def interfaces_can_be_attached(resources: Resources) -> Iterator[Finding]:
    """A launch template has one primary interface with an address, and no card and device index twice."""
    for template in resources.of_type(LAUNCH_TEMPLATE):
        path = f"{_DATA}.NetworkInterfaces"
        interfaces = rows(template.at(path))
        if interfaces and template.at(f"{_DATA}.SecurityGroupIds"):
            yield about(template, f"{_DATA}.SecurityGroupIds", "its network interfaces name security groups, too")
        places = [tuple(_index(each, name) for name in ("NetworkCardIndex", "DeviceIndex")) for each in interfaces]
        first = [each for each, place in zip(interfaces, places, strict=True) if place == (0, 0)]
        if interfaces and len(first) != 1:
            yield about(template, path, "it does not have exactly one primary interface")
        if first and first[0].get("InterfaceType") == "efa-only":
            yield about(template, path, "its primary interface is efa-only, and so has no address")
        if len(set(places)) != len(places):
            yield about(template, path, "two interfaces have the same card and device")
        kind = template.at(f"{_DATA}.InstanceType")
        row = facts.instance_types().get(str(kind))
        too_many = row and (
            len(efa_interfaces(template)) > row.efa_interfaces or any(card >= row.network_cards for card, _ in places)
        )
        if row and too_many:
            yield about(template, path, f"{kind} has {row.network_cards} cards and {row.efa_interfaces} EFA interfaces")


def _index(interface: Mapping[str, Any], name: str) -> int:
    found = str(interface.get(name, 0))
    return int(found) if found.isdecimal() else 0


@rule(
    severity="warning",
    reason="Nodes use only some of their network cards, at a fraction of the speed that you pay for.",
    fix="Give each network card an EFA interface.",
    source='Amazon EC2 user guide, "Elastic Fabric Adapter"',
)
def every_card_has_efa(resources: Resources) -> Iterator[Finding]:
    """A launch template with EFA has an EFA interface on each network card of its instance type."""
    for template in resources.of_type(LAUNCH_TEMPLATE):
        cards = {_index(each, "NetworkCardIndex") for each in efa_interfaces(template)}
        row = facts.instance_types().get(str(template.at(f"{_DATA}.InstanceType")))
        if row and cards and len(cards) < min(row.network_cards, row.efa_interfaces):
            yield about(template, f"{_DATA}.NetworkInterfaces", f"{len(cards)} of {row.network_cards} cards have EFA")


@rule(
    reason="AWS refuses the group.",
    fix="Write minimum <= desired <= maximum.",
    source='Amazon EC2 Auto Scaling user guide, "Set scaling limits for your Auto Scaling group"',
)
def group_can_have_its_size(resources: Resources) -> Iterator[Finding]:
    """A group's desired size is between its minimum and its maximum."""
    paths = {
        NODE_GROUP: ("ScalingConfig.MinSize", "ScalingConfig.DesiredSize", "ScalingConfig.MaxSize"),
        _GROUP: ("MinSize", "DesiredCapacity", "MaxSize"),
    }
    for type_, named in paths.items():
        for group in resources.of_type(type_):
            values = [group.at(path) for path in named]
            sizes = [int(value) for value in values if str(value).isdecimal()]
            if sizes != sorted(sizes):
                yield about(group, named[-1], f"minimum, desired and maximum are {', '.join(map(str, sizes))}")


@rule(
    severity="warning",
    reason="With zero nodes, the autoscaler starts none for pods that fit, or starts nodes for pods that do not.",
    fix="Write the number that the instance type has.",
    source="kubernetes/autoscaler, cluster-autoscaler/cloudprovider/aws/README.md, scaling a node group from 0; "
    "slipway/facts/data/instance_types.yaml",
)
def autoscaler_knows_the_nodes_devices(resources: Resources) -> Iterator[Finding]:
    """The autoscaler's tags of a node group have the number of Neuron devices and EFA interfaces of its nodes."""
    for group in resources.of_type(NODE_GROUP):
        tags = mapping(group.at("Tags"))
        efa = len(efa_interfaces(launch_template(resources, group)))
        for kind in known_types_of(resources, group) if any(_RESOURCE_TAG in key for key in tags) else ():
            for name, count in (("aws.amazon.com/neuron", kind.neuron_devices), ("vpc.amazonaws.com/efa", efa)):
                tagged = tags.get(f"{_RESOURCE_TAG}{name}")
                if str(tagged or 0) != str(count):
                    yield about(group, "Tags", f"its nodes have {count} {name}, and the tag says {tagged or 0}")


@rule(
    reason="EC2 refuses to launch the instances, or you pay for a Capacity Block that is not used.",
    fix="Write `CAPACITY_BLOCK` exactly for launch templates with the market type `capacity-block`.",
    source='Amazon EKS user guide, "Create a managed node group with Capacity Blocks for ML"',
)
def capacity_is_what_the_template_buys(resources: Resources) -> Iterator[Finding]:
    """The capacity type of a node group matches the market type of its launch template."""
    for group in resources.of_type(NODE_GROUP):
        template = launch_template(resources, group)
        market = literal(template.at(f"{_DATA}.InstanceMarketOptions.MarketType")) if template else None
        bought = literal(group.at("CapacityType") or "ON_DEMAND")
        if template and bought and (market == "capacity-block") is not (bought == "CAPACITY_BLOCK"):
            yield about(
                group, "CapacityType", f"it is {bought}, and the launch template has {market or 'no market type'}"
            )


@rule(
    reason="EFA registers memory, which is locked: jobs on several nodes fail at their start.",
    fix="Write a limit above the instance's memory, in bytes.",
    source="ofiwg/libfabric, prov/efa/docs/overview.md; bottlerocket-os/bottlerocket-core-kit pull request 140",
)
def efa_nodes_may_lock_their_memory(resources: Resources) -> Iterator[Finding]:
    """Where user data limits locked memory, the limit on nodes with EFA is above the instance's memory."""
    for group in resources.of_type(NODE_GROUP):
        template = launch_template(resources, group)
        for text in strings(template.at(f"{_DATA}.UserData")) if template and efa_interfaces(template) else ():
            for limit in _LOCKED_MEMORY.findall(text):
                if any(int(limit) < kind.memory_gib * 1024**3 for kind in known_types_of(resources, group)):
                    yield about(group, "LaunchTemplate", f"containers may lock {limit} bytes")


@rule(
    reason="The script finds sound nodes broken, and drains them.",
    fix="Write the type's Neuron devices, a colon, and its EFA interfaces.",
    source="assets/cluster/node_configured.sh; slipway/facts/data/instance_types.yaml",
)
def scripts_expect_the_nodes_devices(resources: Resources) -> Iterator[Finding]:
    """`TYPE=DEVICES:INTERFACES` in the arguments of a cluster's scripts has the devices of the type."""
    for cluster in resources.of_type(CLUSTER):
        for text in strings(cluster.at("ClusterConfiguration")):
            found = _EXPECTED_DEVICES.fullmatch(text)
            kind = facts.instance_types().get(found[1]) if found else None
            if found and kind and (int(found[2]), int(found[3])) not in _devices_of(kind):
                message = f"{text}: {kind.name} has {kind.neuron_devices} Neuron devices"
                yield about(cluster, "ClusterConfiguration", f"{message} and {kind.efa_interfaces} EFA interfaces")


def _devices_of(kind: facts.InstanceType) -> tuple[tuple[int, int], ...]:
    """Return the Neuron devices and EFA interfaces of a node, with and without EFA."""
    return (kind.neuron_devices, kind.efa_interfaces), (kind.neuron_devices, 0)
