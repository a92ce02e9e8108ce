"""Rules and notices about the Kubernetes cluster as a whole: version, training stack, core nodes, public access."""

from collections.abc import Iterator
from datetime import timedelta

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.kubernetes import Kubernetes
from slipway.config.problems import Finding, Path, listed, shown
from slipway.config.ranges import PRIVATE_RANGES, WIDEST_PREFIX_LENGTH, parse_range, range_finding
from slipway.config.rules.offerings import not_offered, plain_types, unknown_type
from slipway.config.rules.registry import environment_notice, environment_rule
from slipway.config.rules.training_stacks import unknown_stack
from slipway.config.section import InvalidPart

_VERSION = ("kubernetes", "version")
_TRAINING_STACK = ("kubernetes", "training_stack")
_CORE_NODES = ("kubernetes", "core_nodes")
_PUBLIC_RANGES = ("kubernetes", "public_access_cidrs")

# EKS API, VpcConfigRequest: the most ranges with access to the public endpoint.
_MOST_PUBLIC_RANGES = 40
# How long before the end of standard support a notice begins, counted from the facts' date: synth reads no clock.
_WARNING = timedelta(days=180)


def kubernetes_cluster(environment: Environment) -> Kubernetes:
    """Return the Kubernetes cluster's section, for rules that say nothing without one.

    Raises:
        InvalidPart: The environment has no Kubernetes cluster, so there is nothing to check.
    """
    if environment.kubernetes is None:
        raise InvalidPart("kubernetes")
    return environment.kubernetes


@environment_rule
def somewhere_to_train(environment: Environment) -> Iterator[Finding]:
    """There is a Slurm cluster, a Kubernetes cluster or both."""
    if environment.training is None and environment.kubernetes is None:
        message = "there is neither `training` nor `kubernetes`, so nothing could run a job"
        yield Finding((), message, "Add `training` for Slurm, or `kubernetes` for Amazon EKS.")


@environment_rule
def kubernetes_version_known(environment: Environment) -> Iterator[Finding]:
    """The Kubernetes version is one for which Slipway pins images and add-ons."""
    version, known = kubernetes_cluster(environment).version, facts.kubernetes_versions()
    if version not in known:
        message = f"Slipway does not know Kubernetes {shown(version)}"
        yield Finding(_VERSION, message, f"Write {listed(known)}, in quotation marks.")


@environment_notice
def kubernetes_version_supported(environment: Environment) -> Iterator[Finding]:
    """Standard support for the Kubernetes version ends within half a year: EKS then upgrades it by itself."""
    version = facts.kubernetes_version(kubernetes_cluster(environment).version)
    if version.standard_support_until - version.as_of <= _WARNING:
        newer = [
            row.name
            for row in facts.kubernetes_versions().values()
            if row.standard_support_until > version.standard_support_until
        ]
        yield Finding(
            _VERSION,
            f"standard support for {version.name} ends on {version.standard_support_until}; EKS then upgrades the "
            f"control plane by itself (facts of {version.as_of})",
            f"Write {listed(newer)}." if newer else "Look for a newer version in the EKS user guide.",
        )


@environment_rule
def kubernetes_training_stack_known(environment: Environment) -> Iterator[Finding]:
    """The training stack of the Kubernetes cluster is one whose packages Slipway pins."""
    yield from unknown_stack(_TRAINING_STACK, kubernetes_cluster(environment).training_stack)


@environment_rule
def kubernetes_training_stack_has_job_kit(environment: Environment) -> Iterator[Finding]:
    """The training image can hold the training stack: the job kit's training code runs with it."""
    pins = facts.training_stack(kubernetes_cluster(environment).training_stack)
    if not pins.job_kit:
        message = f"the job kit does not run with {pins.name}, and the training image is made for it"
        others = [row.name for row in facts.training_stacks().values() if row.job_kit]
        yield Finding(_TRAINING_STACK, message, f"Write {listed(others)}.")


@environment_rule
def core_node_type_known(environment: Environment) -> Iterator[Finding]:
    """The core nodes' instance type is one that Slipway knows."""
    name = kubernetes_cluster(environment).core_nodes.instance_type
    yield from unknown_type((*_CORE_NODES, "instance_type"), name, plain_types())


@environment_rule
def core_nodes_without_accelerator(environment: Environment) -> Iterator[Finding]:
    """The core nodes have no accelerator: they always run, and chips would be idle."""
    name = kubernetes_cluster(environment).core_nodes.instance_type
    if facts.instance_type(name).neuron_devices:
        message = f"core nodes would waste the accelerator of {name}"
        fix = f"Write {listed(row.name for row in plain_types())}."
        yield Finding((*_CORE_NODES, "instance_type"), message, fix)


@environment_rule
def core_nodes_in_two_zones(environment: Environment) -> Iterator[Finding]:
    """The training zone and at least one other offer the core nodes' instance type: they survive the loss of one."""
    name, network = kubernetes_cluster(environment).core_nodes.instance_type, environment.network
    for zones in ((network.training_availability_zone_id,), network.other_availability_zone_ids):
        yield from not_offered((*_CORE_NODES, "instance_type"), name, environment.region, zones)


@environment_rule
def core_node_counts_in_order(environment: Environment) -> Iterator[Finding]:
    """The core nodes' min_count is not larger than their max_count."""
    core = kubernetes_cluster(environment).core_nodes
    if core.min_count > core.max_count:
        message = f"is larger than max_count (got {core.min_count}, max_count is {core.max_count})"
        fix = f"Write {core.max_count} or less, or raise max_count."
        yield Finding((*_CORE_NODES, "min_count"), message, fix)


@environment_rule
def public_access_ranges_valid(environment: Environment) -> Iterator[Finding]:
    """The ranges that reach the cluster's API over the internet are IPv4 ranges without host bits, 40 at most."""
    ranges = kubernetes_cluster(environment).public_access_cidrs
    for index, text in enumerate(ranges):
        yield from range_finding((*_PUBLIC_RANGES, index), text)
    if len(ranges) > _MOST_PUBLIC_RANGES:
        message = f"EKS allows {_MOST_PUBLIC_RANGES} ranges (got {len(ranges)})"
        yield Finding(_PUBLIC_RANGES, message, "Name fewer, wider ones.", at_key=True)


@environment_rule
def public_access_not_for_everyone(environment: Environment) -> Iterator[Finding]:
    """The cluster's API is not open to the whole internet, nor to a range wider than /8."""
    for index, text in enumerate(kubernetes_cluster(environment).public_access_cidrs):
        allowed = parse_range(text)
        if allowed is not None and allowed.prefixlen < WIDEST_PREFIX_LENGTH:
            fix = "Name the networks that people come from, such as 203.0.113.0/24, or remove this list."
            yield Finding((*_PUBLIC_RANGES, index), f"{text} would let strangers try the cluster's API", fix)


@environment_rule
def public_access_from_internet(environment: Environment) -> Iterator[Finding]:
    """The ranges that reach the cluster's API over the internet hold no private address: EKS refuses it."""
    for index, text in enumerate(kubernetes_cluster(environment).public_access_cidrs):
        allowed = parse_range(text)
        if allowed is None or allowed.prefixlen < WIDEST_PREFIX_LENGTH:
            continue
        overlapped = [private for private in PRIVATE_RANGES if allowed.overlaps(private)]
        if overlapped:
            message = f"no request from the internet comes from {text}: {overlapped[0]} is private"
            fix = "Remove it: networks joined to the VPC reach the API without being listed here."
            yield Finding((*_PUBLIC_RANGES, index), message, fix)


@environment_rule
def kubernetes_in_every_zone(environment: Environment) -> Iterator[Finding]:
    """EKS puts a control plane into every zone of the network: the cluster is in all private subnets."""
    kubernetes_cluster(environment)
    network, region = environment.network, facts.region(environment.region)
    others = enumerate(network.other_availability_zone_ids)
    zones: list[tuple[Path, str]] = [
        (("network", "training_availability_zone_id"), network.training_availability_zone_id),
        *((("network", "other_availability_zone_ids", index), zone) for index, zone in others),
    ]
    for path, zone in zones:
        if zone in region.without_eks:
            message = f"EKS refuses a cluster with a subnet in {zone} (facts of {region.as_of})"
            possible = [name for name in region.availability_zone_ids if name not in region.without_eks]
            yield Finding(path, message, f"Write {listed(possible)}.")
