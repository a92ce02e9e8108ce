"""Rules about creation, updates and what is left when the cluster is gone."""

from collections.abc import Iterator

from slipway.assembly.cluster import Cluster
from slipway.assembly.sections import Section, UnknownValue
from slipway.config.problems import Finding
from slipway.review.lint.registry import rule

_GUIDE = "https://docs.aws.amazon.com/parallelcluster/latest/ug"
_LOGS = f"{_GUIDE}/Monitoring-v3.html (Logs, CloudWatch)"


@rule(
    Cluster.whole,
    severity="warning",
    reason=(
        "The default is COMPUTE_FLEET_STOP: an update of a queue is refused while nodes run, and CloudFormation "
        "cannot stop them."
    ),
    fix="Write `QueueUpdateStrategy: DRAIN` in SlurmSettings.",
    source=f"{_GUIDE}/Scheduling-v3.html (QueueUpdateStrategy); aws/aws-parallelcluster issue 5675",
)
def queues_can_be_updated(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """The cluster says what an update does to running nodes."""
    settings = root.section("Scheduling", "SlurmSettings")
    if not settings.has("QueueUpdateStrategy"):
        yield settings.finding("QueueUpdateStrategy is missing", "QueueUpdateStrategy")


@rule(
    Cluster.whole,
    severity="warning",
    reason="The default is Retain: each cluster leaves a log group that nobody deletes.",
    fix="Write `DeletionPolicy: Delete`, or `Retain` if the logs are wanted after the cluster.",
    source=f"{_LOGS}; aws/aws-parallelcluster issue 4711",
)
def logs_have_a_deletion_policy(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """The configuration says whether the logs outlive the cluster."""
    logs = root.section("Monitoring", "Logs", "CloudWatch")
    if logs.flag("Enabled", default=True) and not logs.has("DeletionPolicy"):
        yield logs.finding("the log group stays when the cluster is deleted", "DeletionPolicy")


@rule(
    Cluster.whole,
    severity="warning",
    reason="CloudWatch Logs is paid by the gigabyte and month.",
    fix="Write `RetentionInDays: 30`, or what your audits ask for.",
    source=_LOGS,
)
def logs_have_a_retention(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """The configuration says how long logs are kept."""
    logs = root.section("Monitoring", "Logs", "CloudWatch")
    if logs.flag("Enabled", default=True) and not logs.has("RetentionInDays"):
        days = cluster.limits.default_log_retention_days
        yield logs.finding(f"logs are kept {days} days, which is the default", "RetentionInDays")


@rule(
    Cluster.whole,
    severity="error",
    reason="Without logs in CloudWatch a head node that fails while it is made takes the reason with it.",
    fix="Write `Enabled: true`, or remove the line.",
    source=_LOGS,
)
def logs_are_kept(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """Nodes send their logs to CloudWatch."""
    logs = root.section("Monitoring", "Logs", "CloudWatch")
    if not logs.flag("Enabled", default=True):
        yield logs.finding("the nodes' logs are lost with the nodes", "Enabled")


@rule(
    Cluster.whole,
    severity="error",
    reason="CloudFormation ends the custom resource after an hour, before a longer time-out can say what went wrong.",
    fix="Write at most the named time, and move long installations into a machine image.",
    source="CloudFormation quotas (custom resource: 3,600 seconds)",
)
def head_node_timeout_fits(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """The head node's bootstrap time-out fits into CloudFormation's hour."""
    timeouts = root.section("DevSettings", "Timeouts")
    seconds = timeouts.number("HeadNodeBootstrapTimeout", default=0)
    longest = cluster.release.head_node_bootstrap_timeout_seconds
    if seconds <= longest:
        return
    if cluster.context.made_by_provider is None:
        raise UnknownValue("whether AWS's CloudFormation provider makes the cluster")
    if cluster.context.made_by_provider:
        yield timeouts.finding(f"{seconds} seconds are more than {longest}", "HeadNodeBootstrapTimeout")


@rule(
    Cluster.whole,
    severity="error",
    reason="ParallelCluster terminates nodes that still start, and starts others: they cost money, and no job runs.",
    fix="Write more than the named time, which ParallelCluster and EC2 need, and add what your scripts need.",
    source=f"{_GUIDE}/DevSettings-cluster-v3.html (Timeouts); slipway/facts/data/parallelcluster_releases.yaml",
)
def timeouts_leave_time_for_the_set_up(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """The bootstrap time-outs are longer than a node needs before its scripts start."""
    timeouts = root.section("DevSettings", "Timeouts")
    least = cluster.release.node_start_seconds
    for name in ("HeadNodeBootstrapTimeout", "ComputeNodeBootstrapTimeout"):
        if timeouts.has(name) and (seconds := timeouts.number(name, default=least)) <= least:
            yield timeouts.finding(f"{seconds} seconds are not more than {least}", name)
