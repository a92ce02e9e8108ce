"""Rules about the cluster as a whole: names, limits, head node, operating system."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.problems import Finding, Path, listed, shown
from slipway.config.queues import ComputeResource, Queue
from slipway.config.rules.offerings import not_offered, plain_types, unknown_type, unpriced_type
from slipway.config.rules.registry import compute_resource_rule, environment_notice, environment_rule, queue_rule
from slipway.config.rules.slurm import slurm_cluster
from slipway.facts import ParallelClusterRelease

_CLUSTER_NAME = ("training", "cluster_name")
_OPERATING_SYSTEM = ("training", "operating_system")
_QUEUES = ("training", "queues")
_HEAD_NODE_TYPE = ("training", "head_node", "instance_type")


def _release(environment: Environment) -> ParallelClusterRelease:
    return facts.parallelcluster_release(slurm_cluster(environment).parallelcluster_version)


@environment_rule
def cluster_name_allowed(environment: Environment) -> Iterator[Finding]:
    """The cluster's name is a letter, then letters, digits, hyphens: 60 characters at most, 40 with accounting."""
    name, release = slurm_cluster(environment).cluster_name, _release(environment)
    if environment.storage.accounting_database:
        longest, reason = release.max_cluster_name_length_with_accounting, " for a cluster with Slurm accounting"
    else:
        longest, reason = release.max_cluster_name_length, ""
    if len(name) > longest:
        message = f"is too long{reason} (got {len(name)} characters)"
        yield Finding(_CLUSTER_NAME, message, f"Write {longest} characters at most.")
    elif not re.fullmatch(release.cluster_name_pattern, name):
        message = f"must be a letter, then letters, digits and hyphens (got {shown(name)})"
        yield Finding(_CLUSTER_NAME, message, "For example `trainium`.")


@environment_rule
def cluster_name_free(environment: Environment) -> Iterator[Finding]:
    """The cluster's name, which its CloudFormation stack has too, does not begin like the environment's stacks."""
    name, prefix = slurm_cluster(environment).cluster_name, f"slipway-{environment.name}-"
    if name.lower().startswith(prefix):
        message = f"the names `{prefix}...` belong to the environment's own stacks (got {shown(name)})"
        yield Finding(_CLUSTER_NAME, message, "Write another name, for example `trainium`.")


@environment_rule
def queue_limit(environment: Environment) -> Iterator[Finding]:
    """A cluster has at most 50 queues."""
    count, release = len(slurm_cluster(environment).queues), _release(environment)
    if count > release.max_queues:
        message = f"ParallelCluster {release.version} allows {release.max_queues} queues (got {count})"
        yield Finding(_QUEUES, message, "Remove queues.")


@environment_rule
def compute_resource_limit(environment: Environment) -> Iterator[Finding]:
    """A cluster has at most 50 compute resources over all queues."""
    count = sum(len(queue.compute_resources) for queue in slurm_cluster(environment).queues)
    release = _release(environment)
    if count > release.max_compute_resources:
        limit = f"{release.max_compute_resources} compute resources over all queues"
        message = f"ParallelCluster {release.version} allows {limit} (got {count})"
        yield Finding(_QUEUES, message, "Remove compute resources.")


def _name_findings(path: Path, name: str, release: ParallelClusterRelease) -> Iterator[Finding]:
    longest = release.max_queue_name_length
    if len(name) > longest:
        yield Finding(path, f"is too long (got {len(name)} characters)", f"Write {longest} characters at most.")
    elif not re.fullmatch(release.queue_name_pattern, name):
        message = f"must be a lower-case letter, then lower-case letters, digits and hyphens (got {shown(name)})"
        fitting = re.sub(r"[^a-z0-9-]", "-", name.lower())
        fix = fitting if re.fullmatch(release.queue_name_pattern, fitting) else "trn1"
        yield Finding(path, message, f"For example `{fix}`.")
    elif name in release.reserved_names:
        yield Finding(path, f"ParallelCluster keeps the name {shown(name)} for itself", "Write another name.")


@queue_rule
def queue_name_allowed(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A queue's name is a lower-case letter, then such letters, digits and hyphens, 25 at most, and not `default`."""
    yield from _name_findings((*path, "name"), queue.name, _release(environment))


@compute_resource_rule
def compute_resource_name_allowed(
    environment: Environment, path: Path, queue: Queue, resource: ComputeResource
) -> Iterator[Finding]:
    """A compute resource's name follows the rule for queue names."""
    yield from _name_findings((*path, "name"), resource.name, _release(environment))


def _repeated_names(path: Path, items: Sequence[Queue | ComputeResource], what: str) -> Iterator[Finding]:
    seen: Counter[str] = Counter()
    for index, item in enumerate(items):
        seen[item.name] += 1
        if seen[item.name] > 1:
            yield Finding(
                (*path, index, "name"), f"another {what} has the name {shown(item.name)}", "Write another name."
            )


@environment_rule
def queue_names_distinct(environment: Environment) -> Iterator[Finding]:
    """No two queues have the same name."""
    yield from _repeated_names(_QUEUES, slurm_cluster(environment).queues, "queue")


@queue_rule
def compute_resource_names_distinct(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """No two compute resources of a queue have the same name."""
    yield from _repeated_names((*path, "compute_resources"), queue.compute_resources, "compute resource of the queue")


@environment_rule
def head_node_type_known(environment: Environment) -> Iterator[Finding]:
    """The head node's instance type is one that Slipway knows."""
    yield from unknown_type(
        _HEAD_NODE_TYPE, slurm_cluster(environment).head_node.instance_type, plain_types(), any_cpu_type=True
    )


@environment_notice
def head_node_type_unpriced(environment: Environment) -> Iterator[Finding]:
    """The head node's instance type is one without facts."""
    yield from unpriced_type(_HEAD_NODE_TYPE, slurm_cluster(environment).head_node.instance_type)


@environment_rule
def head_node_without_accelerator(environment: Environment) -> Iterator[Finding]:
    """The head node has no accelerator: it schedules, and chips would be idle."""
    name = slurm_cluster(environment).head_node.instance_type
    if facts.instance_type(name).neuron_devices:
        message = f"the head node would waste the accelerator of {name}"
        yield Finding(_HEAD_NODE_TYPE, message, f"Write {listed(row.name for row in plain_types())}.")


@environment_rule
def head_node_offered(environment: Environment) -> Iterator[Finding]:
    """The training zone offers the head node's instance type."""
    zone, head_node = environment.network.training_availability_zone_id, slurm_cluster(environment).head_node
    yield from not_offered(_HEAD_NODE_TYPE, head_node.instance_type, environment.region, (zone,))


@environment_rule
def head_node_memory(environment: Environment) -> Iterator[Finding]:
    """The head node has memory for its nodes: 1 GiB for each 25 of them, up to 16 GiB."""
    training = slurm_cluster(environment)
    instance_type = facts.instance_type(training.head_node.instance_type)
    nodes = sum(resource.max_count for queue in training.queues for resource in queue.compute_resources)
    limits = facts.configuration_limit(training.parallelcluster_version)
    needed = limits.head_node_memory_gib(nodes)
    if instance_type.memory_gib < needed:
        possible = [row.name for row in plain_types() if row.memory_gib >= needed]
        message = f"{instance_type.name} has {instance_type.memory_gib} GiB and {nodes} nodes need {needed:.2f} GiB"
        yield Finding(_HEAD_NODE_TYPE, message, f"Write {listed(possible)}.")


@environment_rule
def operating_system_in_release(environment: Environment) -> Iterator[Finding]:
    """The ParallelCluster release has images of the operating system."""
    system, release = slurm_cluster(environment).operating_system, _release(environment)
    if system not in release.operating_systems:
        message = f"ParallelCluster {release.version} has no {shown(system)} (facts of {release.as_of})"
        yield Finding(_OPERATING_SYSTEM, message, f"Write {listed(release.operating_systems)}.")
