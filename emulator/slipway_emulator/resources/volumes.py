"""EBS volumes: a snapshot can be left behind when one is deleted."""

from slipway_emulator.resources.handler import Existing, Request, Snapshot
from slipway_emulator.resources.row_handler import RowHandler, api_reasons

_SNAPSHOT = "AWS::EC2::Snapshot"
"""Named like a type for the ledger's sake; CloudFormation's registry has none for snapshots."""


class VolumeHandler(RowHandler):
    """Creates, changes and deletes the volume by its row."""

    def take_snapshot(self, request: Request, existing: Existing) -> Snapshot:
        """Take a snapshot of the volume."""
        client = self._clients.get("ec2", request.stack.region)
        with api_reasons():
            answer = client.create_snapshot(
                VolumeId=existing.physical_id, Description=f"{request.stack.name}/{request.logical_id}"
            )
        return Snapshot(_SNAPSHOT, str(answer["SnapshotId"]))
