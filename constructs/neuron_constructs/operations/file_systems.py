"""/fsx and /home: full, too slow, or not copied to S3."""

from aws_cdk import aws_cloudwatch as cloudwatch

from neuron_constructs.operations.metrics import FIVE_MINUTES, ONE_MINUTE, Source
from neuron_constructs.operations.watch import Alarm, Graph, WatchedPart

_GIB = 1024**3
_GIB_PER_TIB = 1024
_BYTES_PER_MB = 1_000_000
_NAMESPACE = "AWS/FSx"
_SATURATED = 0.9
"""Share of the file system's throughput that, used for half an hour, is told."""

_EXPORT_LAG_SECONDS = 3600
"""Age of a file that waits for its export that is told; checkpoints are written about once an hour."""


def watch_lustre(file_system_id: str, *, capacity_gib: int, throughput_mb_s_per_tib: int) -> WatchedPart:
    """Return what is watched of the FSx for Lustre file system at /fsx.

    Args:
        file_system_id: its id.
        capacity_gib: its storage capacity in GiB.
        throughput_mb_s_per_tib: its throughput per unit of storage, MB/s/TiB.
    """
    source = Source(_NAMESPACE, {"FileSystemId": file_system_id})
    # Every minute one sample for each disk: the sum over a minute is the file system's, over more it would count again.
    free = source.metric("FreeDataStorageCapacity", "Sum", period=ONE_MINUTE)
    read, written = (source.metric(name, "Sum") for name in ("DataReadBytes", "DataWriteBytes"))
    export_lag = source.metric("AgeOfOldestQueuedMessage", "Maximum", Publisher="AutoExport")
    return WatchedPart(
        title="/fsx: FSx for Lustre",
        alarms=[
            Alarm(
                name="FileSystemNearlyFull",
                metric=free,
                fires="below",
                threshold=capacity_gib * _GIB / 10,
                periods=15,
                means="/fsx has less than a tenth of its capacity left. Delete old checkpoints (they are in the "
                "bucket), or raise storage.lustre.capacity_gib; it can only grow.",
            ),
            Alarm(
                name="FileSystemSaturated",
                metric=_bytes_per_second(read, written),
                fires="above",
                threshold=_SATURATED * capacity_gib / _GIB_PER_TIB * throughput_mb_s_per_tib * _BYTES_PER_MB,
                periods=6,
                means="For half an hour /fsx has moved more than 90 percent of what it can: nodes wait for data or "
                "checkpoints. Raise storage.lustre.throughput_mb_s_per_tib or capacity_gib, or read less often.",
            ),
            Alarm(
                name="CheckpointsNotExported",
                metric=export_lag,
                fires="above",
                threshold=_EXPORT_LAG_SECONDS,
                periods=3,
                means="A file in /fsx/checkpoints has waited for more than an hour to be copied to its bucket. Do not "
                "destroy the file system now; the FSx console, data repository, shows whether the export fails.",
            ),
        ],
        graphs=[
            Graph(title="/fsx: free bytes", metrics=[free]),
            Graph(
                title="/fsx: free bytes of the fullest disk",
                metrics=[source.metric("FreeDataStorageCapacity", "Minimum")],
            ),
            Graph(title="/fsx: bytes read and written", metrics=[read, written]),
            Graph(title="/fsx: age of the oldest file that waits for its export, seconds", metrics=[export_lag]),
        ],
    )


def _bytes_per_second(read: cloudwatch.Metric, written: cloudwatch.Metric) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(
        expression="(read + written) / PERIOD(read)",
        label="bytes per second",
        period=FIVE_MINUTES,
        using_metrics={"read": read, "written": written},
    )


def watch_open_zfs(file_system_id: str, root_volume_id: str) -> WatchedPart:
    """Return what is watched of an FSx for OpenZFS file system at /home.

    Args:
        file_system_id: its id.
        root_volume_id: id of its root volume, in which all others are.
    """
    source = Source(_NAMESPACE, {"FileSystemId": file_system_id, "VolumeId": root_volume_id})
    used_percent = cloudwatch.MathExpression(
        expression="100 * used / capacity",
        label="percent used",
        period=FIVE_MINUTES,
        using_metrics={
            "used": source.metric("UsedStorageCapacity", "Maximum"),
            "capacity": source.metric("StorageCapacity", "Maximum"),
        },
    )
    return WatchedPart(
        title="/home: FSx for OpenZFS",
        alarms=[
            Alarm(
                name="HomeNearlyFull",
                metric=used_percent,
                fires="above",
                threshold=90,
                periods=3,
                means="/home is nearly full; when it is, nobody can log in properly. Move data to /fsx, or raise "
                "storage.home.capacity_gib; it can only grow.",
            )
        ],
        graphs=[
            Graph(title="/home: percent used", metrics=[used_percent]),
            Graph(
                title="/home: bytes read and written",
                metrics=[source.metric(name, "Sum") for name in ("DataReadBytes", "DataWriteBytes")],
            ),
        ],
    )
