"""Rules about disks and file systems."""

from collections.abc import Iterator

from slipway.assembly.cluster import Cluster, max_count, subnets
from slipway.assembly.sections import Section, UnknownValue
from slipway.config.problems import Finding
from slipway.review.lint.registry import rule

_GUIDE = "https://docs.aws.amazon.com/parallelcluster/latest/ug"
_SHARED_STORAGE = f"{_GUIDE}/SharedStorage-v3.html"
_LUSTRE_GUIDE = "https://docs.aws.amazon.com/fsx/latest/LustreGuide"
_MADE_WITH_DATA = {"FsxLustre": ("FsxLustreSettings", "FileSystemId"), "Efs": ("EfsSettings", "FileSystemId")}


@rule(
    Cluster.nodes,
    severity="error",
    reason="Keys, tokens and training data lie readable on disks and in snapshots.",
    fix="Write `Encrypted: true`, or remove the line.",
    source=f"{_GUIDE}/HeadNode-v3.html (LocalStorage, RootVolume, Encrypted)",
)
def root_volumes_encrypted(cluster: Cluster, node: Section) -> Iterator[Finding]:
    """Root volumes are encrypted."""
    for keys in (("LocalStorage", "RootVolume"), ("ComputeSettings", "LocalStorage", "RootVolume")):
        if not node.section(*keys).flag("Encrypted", default=True):
            yield node.finding("the root volume is not encrypted", *keys, "Encrypted")


@rule(
    Cluster.shared_storage,
    severity="error",
    reason="Data lies readable on disks; an EFS file system can never be encrypted later, and the default is not to.",
    fix="Write `Encrypted: true`.",
    source=f"{_SHARED_STORAGE} (EbsSettings and EfsSettings, Encrypted)",
)
def shared_storage_encrypted(cluster: Cluster, storage: Section) -> Iterator[Finding]:
    """Shared volumes and file systems that the cluster makes are encrypted."""
    volume, efs = storage.section("EbsSettings"), storage.section("EfsSettings")
    if not volume.flag("Encrypted", default=True):
        yield volume.finding("the volume is not encrypted", "Encrypted")
    made = storage.text("StorageType") == "Efs" and not efs.has("FileSystemId")
    if made and not efs.flag("Encrypted", default=False):
        yield efs.finding("the file system is not encrypted", "Encrypted")


@rule(
    Cluster.shared_storage,
    severity="error",
    reason=(
        "A file system that the cluster makes is deleted with the cluster, and by an update that removes its entry, "
        "with all checkpoints in it. Delete is the default."
    ),
    fix="Make the file system beside the cluster and name its FileSystemId, or write `DeletionPolicy: Retain`.",
    source=f"{_SHARED_STORAGE} (DeletionPolicy); aws/aws-parallelcluster issue 4651",
)
def data_outlives_cluster(cluster: Cluster, storage: Section) -> Iterator[Finding]:
    """FSx and EFS file systems outlive the cluster."""
    section, existing = _MADE_WITH_DATA.get(storage.text("StorageType") or "", ("", ""))
    if not section:
        return
    settings = storage.section(section)
    if not settings.has(existing) and settings.text("DeletionPolicy") in (None, "Delete"):
        yield settings.finding("the file system is deleted with the cluster", "DeletionPolicy")


@rule(
    Cluster.shared_storage,
    severity="warning",
    reason="A scratch file system keeps one copy of the data: when a server fails, files are lost.",
    fix="Write `DeploymentType: PERSISTENT_2`, or keep only what can be made again on it.",
    source=f"{_LUSTRE_GUIDE}/using-fsx-lustre.html",
)
def lustre_keeps_data(cluster: Cluster, storage: Section) -> Iterator[Finding]:
    """FSx for Lustre is of a persistent type."""
    if not _makes_lustre(storage):
        return
    settings = storage.section("FsxLustreSettings")
    deployment = settings.text("DeploymentType")
    if deployment is None or deployment.startswith("SCRATCH"):
        yield settings.finding(f"{deployment or 'SCRATCH_2, the default,'} has no replication", "DeploymentType")


@rule(
    Cluster.shared_storage,
    severity="warning",
    reason="A deleted or overwritten checkpoint is gone: there are no backups unless they are asked for.",
    fix="Write `AutomaticBackupRetentionDays: 7`, or add a DataRepositoryAssociation that exports to S3.",
    source=f"{_LUSTRE_GUIDE}/using-backups-fsx.html",
)
def lustre_has_backups(cluster: Cluster, storage: Section) -> Iterator[Finding]:
    """A persistent FSx for Lustre has backups or a data repository."""
    if not _makes_lustre(storage):
        return
    settings = storage.section("FsxLustreSettings")
    persistent = (settings.text("DeploymentType") or "").startswith("PERSISTENT")
    backed_up = settings.number("AutomaticBackupRetentionDays", default=0)
    if persistent and not backed_up and not settings.items("DataRepositoryAssociations"):
        yield settings.finding("it has neither backups nor a data repository", "AutomaticBackupRetentionDays")


def _makes_lustre(storage: Section) -> bool:
    made = not storage.section("FsxLustreSettings").has("FileSystemId")
    return storage.text("StorageType") == "FsxLustre" and made


@rule(
    Cluster.whole,
    severity="warning",
    reason="The head node shares these volumes over NFS: its network is the limit of all nodes together.",
    fix="Move what jobs read and write to FSx for Lustre, and home directories to FSx for OpenZFS.",
    source="aws-parallelcluster 3.16.1, SharedEbsPerformanceBottleNeckValidator",
)
def shared_volumes_for_few_nodes(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """Volumes that the head node shares serve no more nodes than its network can."""
    nodes = sum(max_count(cluster, resource) for resource in cluster.compute_resources())
    limit = cluster.limits.most_nodes_on_shared_ebs
    for storage in cluster.shared_storage():
        if storage.text("StorageType") == "Ebs" and nodes > limit:
            yield storage.finding(f"up to {nodes} nodes share a volume of the head node (good for {limit})")


@rule(
    Cluster.queues,
    severity="error",
    reason="The node's own disks are mounted over the shared directory: each node sees another one, and data is lost.",
    fix="Mount one of the two somewhere else.",
    source="found by mutation: aws-parallelcluster 3.16.1 gives a WARNING",
)
def scratch_beside_shared_storage(cluster: Cluster, queue: Section) -> Iterator[Finding]:
    """The nodes' own disks are not mounted where shared storage is."""
    volume = queue.section("ComputeSettings", "LocalStorage", "EphemeralVolume")
    scratch = volume.text("MountDir") or cluster.limits.default_scratch_directory
    shared = {_normal(storage.text("MountDir") or "") for storage in cluster.shared_storage()}
    if _normal(scratch) in shared:
        yield volume.finding(f"{scratch} is shared storage too", "MountDir")


def _normal(directory: str) -> str:
    return f"/{directory.strip('/')}"


@rule(
    Cluster.queues,
    severity="warning",
    reason="Every read and write crosses Availability Zones: slower, and paid by the gigabyte.",
    fix="Put the file system into the subnet of the queue.",
    source=f"{_LUSTRE_GUIDE}/performance.html",
)
def queue_beside_file_system(cluster: Cluster, queue: Section) -> Iterator[Finding]:
    """A queue stands in the Availability Zone of its FSx file systems."""
    for storage in cluster.shared_storage():
        reference = storage.section("FsxLustreSettings").written("FileSystemId")
        if reference is None:
            continue
        zone = cluster.context.file_system_zones.get(reference)
        for subnet in subnets(queue):
            queue_zone = cluster.context.subnet(subnet).zone_id
            if zone is None or queue_zone is None:
                raise UnknownValue(f"the Availability Zone of {reference} or of {subnet}")
            if queue_zone != zone:
                yield queue.finding(f"it is in {queue_zone}, its file system in {zone}", "Networking")
