"""Rules about what the ParallelCluster release can do."""

from collections.abc import Iterator, Sequence

from slipway import facts
from slipway.assembly.cluster import Cluster, accelerated_resources, instance_types
from slipway.assembly.sections import Section, UnknownValue
from slipway.config.problems import Finding, listed
from slipway.review.lint.registry import rule

_GUIDE = "https://docs.aws.amazon.com/parallelcluster/latest/ug"
_REMOVED = "release notes of aws-parallelcluster 3.14.0 and 3.16.0"


@rule(
    Cluster.whole,
    severity="error",
    reason="The provider's functions have a runtime that AWS Lambda no longer creates: creation fails after minutes.",
    fix="Name the newest release in the provider's TemplateURL; a running cluster needs a new one beside it.",
    source="aws/aws-parallelcluster issue 7287",
)
def release_can_be_deployed(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """The ParallelCluster release still deploys."""
    release, oldest = cluster.context.release, cluster.limits.oldest_deployable_release
    if release is None:
        raise UnknownValue("which ParallelCluster release makes the cluster")
    if _version(release) < _version(oldest):
        yield root.finding(f"ParallelCluster {release} cannot be deployed any more; the oldest is {oldest}")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


@rule(
    Cluster.whole,
    severity="error",
    reason="ParallelCluster refuses the configuration.",
    fix="Name a Region that ParallelCluster supports.",
    source="aws-parallelcluster 3.16.1, resources/supported-regions",
)
def region_supported(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """ParallelCluster supports the Region."""
    if cluster.region not in cluster.release.regions:
        yield root.finding(f"ParallelCluster {cluster.release.version} does not support {cluster.region}", "Region")


@rule(
    Cluster.whole,
    severity="error",
    reason="There is no machine image of it any more: creation ends with an error of the schema.",
    fix="Write `Os: ubuntu2204` or `Os: ubuntu2404`.",
    source=_REMOVED,
)
def operating_system_exists(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """ParallelCluster still has the operating system."""
    image, limits = root.section("Image"), cluster.limits
    system = image.required("Os")
    if removed := limits.removed_operating_systems.get(system):
        yield image.finding(f"ParallelCluster {removed} removed {system}", "Os")
    elif system not in limits.operating_systems:
        there = listed(limits.operating_systems, "and")
        yield image.finding(f"ParallelCluster {limits.version} has no {system}; it has {there}", "Os")


@rule(
    Cluster.queues,
    severity="warning",
    reason="The Neuron driver and the frameworks of one release do not install there, or do not run.",
    fix="Choose an operating system for which Slipway has a training stack.",
    source="slipway/facts/data/training_stacks.yaml (Neuron SDK release notes)",
)
def operating_system_has_training_stack(cluster: Cluster, queue: Section) -> Iterator[Finding]:
    """Some complete set of Neuron packages is for the queue's chips and the cluster's operating system."""
    system = cluster.root.section("Image").required("Os")
    for resource in accelerated_resources(queue):
        for name in instance_types(resource):
            family = facts.instance_type(name).family
            stacks = [stack for stack in facts.training_stacks().values() if family in stack.instance_families]
            if not any(system in stack.operating_systems for stack in stacks):
                there = listed(sorted({known for stack in stacks for known in stack.operating_systems}), "and")
                yield resource.finding(f"no training stack for {family} runs on {system} (on {there})", "InstanceType")


@rule(
    Cluster.whole,
    severity="error",
    reason="ParallelCluster refuses the configuration.",
    fix="Remove some, or make a second cluster.",
    source="aws-parallelcluster 3.16.1, constants.py, lines 143 to 146",
)
def queues_within_limits(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """A cluster has at most 50 queues, and 50 compute resources over all of them."""
    release = cluster.release
    for count, most, what in (
        (len(cluster.queues()), release.max_queues, "queues"),
        (len(cluster.compute_resources()), release.max_compute_resources, "compute resources"),
    ):
        if count > most:
            message = f"{count} {what}, and ParallelCluster {release.version} allows {most}"
            yield root.finding(message, "Scheduling", "SlurmQueues")


@rule(
    Cluster.whole,
    severity="error",
    reason="ParallelCluster refuses the configuration: it has Slurm only.",
    fix="Write `Scheduler: slurm`; for AWS Batch use its own compute environments.",
    source=_REMOVED,
)
def scheduler_exists(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """The scheduler is Slurm."""
    scheduling = root.section("Scheduling")
    scheduler = scheduling.text("Scheduler")
    if scheduler not in (None, "slurm"):
        removed = cluster.limits.removed_schedulers.get(str(scheduler))
        why = f"ParallelCluster {removed} removed {scheduler}" if removed else f"there is no scheduler {scheduler}"
        yield scheduling.finding(why, "Scheduler")


@rule(
    Cluster.whole,
    severity="error",
    reason="ParallelCluster sets these itself and refuses the configuration; its prolog.d and epilog.d folders remain.",
    fix="Remove the line. A prolog goes to /opt/slurm/etc/scripts/prolog.d/ on the head node.",
    source=f"{_GUIDE}/slurm-configuration-settings-v3.html (deny lists)",
)
def slurm_settings_allowed(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """Custom Slurm settings exclude those that ParallelCluster reserves."""
    limits, settings = cluster.limits, root.section("Scheduling", "SlurmSettings")
    denied = limits.denied_slurm_settings
    if settings.has("Database"):
        denied = (*denied, *limits.denied_slurm_settings_with_database)
    for item in settings.items("CustomSlurmSettings"):
        # More than one name in an item: nodes and partitions of one's own, which are not compared.
        if isinstance(item.value, dict) and len(item.value) == 1:
            yield from _denied(item, denied)
    for queue in cluster.queues():
        yield from _denied(queue.section("CustomSlurmSettings"), limits.denied_queue_settings)
    for resource in cluster.compute_resources():
        yield from _denied(resource.section("CustomSlurmSettings"), limits.denied_compute_resource_settings)


def _denied(settings: Section, denied: Sequence[str]) -> Iterator[Finding]:
    for name in denied:
        for written in settings.value if isinstance(settings.value, dict) else ():
            if written.lower() == name.lower():
                yield settings.finding(f"{name} is ParallelCluster's own", written)
