"""Databases: a last snapshot can be left behind when one is deleted."""

from slipway_emulator.resources.handler import Existing, Request, Snapshot
from slipway_emulator.resources.row_handler import RowHandler, api_reasons

_SNAPSHOT = "AWS::RDS::DBSnapshot"
"""Named like a type for the ledger's sake; CloudFormation's registry has none for snapshots."""


class DatabaseHandler(RowHandler):
    """Creates, changes and deletes the database by its row."""

    def take_snapshot(self, request: Request, existing: Existing) -> Snapshot:
        """Take a snapshot of the database."""
        client = self._clients.get("rds", request.stack.region)
        name = request.generated_name(255, lower_case=True)
        with api_reasons():
            client.create_db_snapshot(DBInstanceIdentifier=existing.physical_id, DBSnapshotIdentifier=name)
        return Snapshot(_SNAPSHOT, name)
