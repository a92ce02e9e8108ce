"""What a user reads before saying yes."""

from collections.abc import Iterator

from slipway.assembly.existing import TITLE
from slipway.aws.account import Account
from slipway.aws.stacks import DeployedStack
from slipway.remove.documented_leftovers import rules
from slipway.remove.scope import Scope
from slipway.remove.teardown.compute_nodes import by_state
from slipway.remove.teardown.exports import Export
from slipway.remove.teardown.inspection import Inspection


def announcement(scope: Scope, found: Inspection, account: Account) -> Iterator[str]:
    """Yield the lines: what goes, which data go with it, what stays, and what cannot be deleted."""
    yield f"Environment {scope.environment} in account {account.id}, {scope.region}"
    yield from _part("Stacks that will be deleted", [f"{stack.name} ({stack.status})" for stack in _stacks(found)])
    yield from _part("Compute nodes that will be terminated, with the jobs on them", _nodes(found))
    yield from _part("Jobs that will be cut off", _jobs(found))
    yield from _part(
        "Inference tasks that will be stopped, and their hosts",
        [str(service) for service in found.serving if service.tasks or service.wanted],
    )
    volumes = [
        (mount_point, policy, cluster.name)
        for cluster in scope.clusters
        for mount_point, policy in cluster.volumes.items()
        if cluster.name in found.stacks
    ]
    yield from _part(
        "Data that will be LOST",
        [
            *(str(resource) for resource in scope.lost if resource.stack in found.stacks),
            *(f"volume {mount} of cluster {name}" for mount, policy, name in volumes if policy == "Delete"),
            *(line for export in found.exports for line in _unexported(export, found.lost_buckets)),
        ],
    )
    yield from _part(
        "NOT exported, as far as AWS answers",
        [reason for export in found.exports for reason in (*export.pending, *export.unknown)],
    )
    yield from _part(
        "Kept",
        [
            *(str(resource) for resource in scope.kept if resource.stack in found.stacks),
            *(f"volume {mount} of cluster {name}" for mount, policy, name in volumes if policy == "Retain"),
            *(
                f"a snapshot of volume {mount} of cluster {name}"
                for mount, policy, name in volumes
                if policy == "Snapshot"
            ),
        ],
    )
    yield from _part(TITLE, [str(existing) for existing in scope.existing])
    yield from _part(
        "Left behind, by design",
        [f"{row.kind} {row.name}: {row.reason}" for row in rules().documented if row.left_by == "ParallelCluster"],
    )


def _stacks(found: Inspection) -> list[DeployedStack]:
    return sorted(found.stacks.values(), key=lambda stack: stack.name)


def _nodes(found: Inspection) -> list[str]:
    return [
        f"{cluster}, queue {queue}: {by_state([node for node in nodes if node.queue == queue])}"
        for cluster, nodes in found.nodes.items()
        for queue in sorted({node.queue for node in nodes})
    ]


def _jobs(found: Inspection) -> list[str]:
    lines = []
    for cluster, jobs in found.jobs.items():
        if jobs is None:
            lines.append(f"{cluster}: not known, its head node does not answer")
        else:
            lines += [f"{cluster}: {job}" for job in jobs]
    return lines


def _unexported(export: Export, lost_buckets: tuple[str, ...]) -> Iterator[str]:
    """Yield what of a file system is nowhere else."""
    if export.unknown and not export.folders:
        yield f"the files of {export.file_system}: which of them are exported to a bucket is not known"
        return
    if not export.folders:
        yield f"every file of {export.file_system}: no folder of it is exported to a bucket"
        return
    yield f"every file of {export.file_system} outside {', '.join(export.folders)}: only that is exported to a bucket"
    for folder, bucket in export.folders.items():
        if bucket.removeprefix("s3://").partition("/")[0] in lost_buckets:
            yield f"{folder} of {export.file_system}, too: its copy is in {bucket}, which is deleted"


def _part(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"\n{title}:"
        yield from (f"  {line}" for line in lines)
