"""The database of Slurm's accounting: full, or without its one client."""

from neuron_constructs.operations.metrics import Source
from neuron_constructs.operations.watch import Alarm, Graph, WatchedPart

_GIB = 1024**3


def watch_accounting_database(instance_identifier: str, *, storage_gib: int) -> WatchedPart:
    """Return what is watched of a database in Amazon RDS.

    Args:
        instance_identifier: its DB instance identifier.
        storage_gib: size of its storage in GiB.
    """
    source = Source("AWS/RDS", {"DBInstanceIdentifier": instance_identifier})
    free = source.metric("FreeStorageSpace", "Minimum")
    connections = source.metric("DatabaseConnections", "Maximum")
    return WatchedPart(
        title="Slurm accounting: database",
        alarms=[
            Alarm(
                name="AccountingDatabaseNearlyFull",
                metric=free,
                fires="below",
                threshold=storage_gib * _GIB / 10,
                periods=3,
                means="The accounting database has less than a tenth of its storage left; when it is full, RDS stops "
                "it. Raise storage.accounting_database.storage_gib, or let slurmdbd purge old records.",
            ),
            Alarm(
                name="AccountingDatabaseNotConnected",
                metric=connections,
                fires="below",
                threshold=1,
                periods=6,
                silence="ends",
                means="For half an hour slurmdbd has not been connected to its database, or (state INSUFFICIENT_DATA) "
                "the database sends nothing: it is stopped. Records wait in slurmctld's memory. On the head node: "
                "`systemctl status slurmdbd`, then /var/log/slurmdbd.log.",
            ),
        ],
        graphs=[
            Graph(title="Accounting database: free bytes", metrics=[free]),
            Graph(title="Accounting database: connections", metrics=[connections]),
        ],
    )
