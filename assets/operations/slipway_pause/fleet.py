"""The compute fleet of a Slurm cluster, stopped and started the way `pcluster update-compute-fleet` does it.

ParallelCluster keeps the fleet's status in a DynamoDB table of the cluster and writes requests there; clusterstatusmgtd
on the head node looks every minute and carries them out: it makes the partitions inactive and terminates the nodes, or
makes them active again. A head node that does not answer carries nothing out, so nothing here says that it was done.
Table, item and condition are those of `JsonComputeFleetStatusManager` in aws-parallelcluster
(pcluster/models/compute_fleet_status_manager.py; the same from 3.2 to 3.16). Its API would need an API Gateway, and its
package does not fit into a function.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from slipway_pause.part import TAG, StateError, is_error

ITEM = {"Id": {"S": "COMPUTE_FLEET"}}
"""Key of the fleet's item."""

STOP_REQUESTED = "STOP_REQUESTED"
START_REQUESTED = "START_REQUESTED"

_STOPS = (STOP_REQUESTED, "STOPPING", "STOPPED")
_STARTS = (START_REQUESTED, "STARTING", "RUNNING")
# PROTECTED: nodes failed to start again and again, and partitions are inactive. A start ends that.
_RUNS = (*_STARTS, "PROTECTED")
_ATTEMPTS = 3


@dataclass(frozen=True)
class ComputeFleet:
    """The compute fleet of one cluster.

    Attributes:
        dynamodb: boto3 client.
        cluster: name of the cluster.
    """

    dynamodb: Any
    cluster: str

    @property
    def name(self) -> str:
        """What people know it by."""
        return f"compute fleet of {self.cluster}"

    @property
    def table(self) -> str:
        """Name of ParallelCluster's table."""
        return f"parallelcluster-{self.cluster}"

    def stop(self) -> str | None:
        """Request that the fleet stops; nothing when there is no cluster, or somebody has stopped it."""
        table_arn, status = self._table_arn(), None
        if table_arn:
            status = self._request(STOP_REQUESTED, unless=_STOPS, before=lambda was: self._remember(table_arn, was))
        if status is None or (status in _STOPS and not self._tag(table_arn)):
            return None
        if status in _STOPS:
            return f"is {status} already"
        return f"was {status}; the head node is asked to terminate its nodes, which takes minutes"

    def start(self) -> str | None:
        """Request that the fleet starts, when it was this that stopped it."""
        table_arn = self._table_arn()
        if not table_arn or not self._tag(table_arn):
            return None
        status = self._request(START_REQUESTED, unless=_STARTS)
        self.dynamodb.untag_resource(ResourceArn=table_arn, TagKeys=[TAG])
        if status in _STARTS:
            return f"is {status} already"
        return "the head node is asked to make its partitions active, which takes minutes"

    def remembered(self) -> str | None:
        """The status that the fleet had."""
        table_arn = self._table_arn()
        return self._tag(table_arn) if table_arn else None

    def _request(self, wanted: str, *, unless: tuple[str, ...], before: Any = None) -> str:
        """Write a request unless the status is one of those; return the status before.

        Raises:
            StateError: there is no status yet, or it changes all the time.
        """
        for _ in range(_ATTEMPTS):
            status = self._status()
            if status in unless:
                return status
            if status not in (*_RUNS, *_STOPS):
                raise StateError(f"its status is {status}: the head node does not answer for it yet")
            if before:
                before(status)
            try:
                self._put(status, wanted)
            except ClientError as error:
                if not is_error(error, "ConditionalCheckFailedException"):
                    raise
            else:
                return status
        raise StateError("its status changes while it is written; try again")

    def _put(self, status: str, wanted: str) -> None:
        self.dynamodb.update_item(
            TableName=self.table,
            Key=ITEM,
            UpdateExpression="SET #data.#status = :wanted, #data.#updated = :now",
            ConditionExpression="#data.#status = :status",
            ExpressionAttributeNames={"#data": "Data", "#status": "status", "#updated": "lastStatusUpdatedTime"},
            ExpressionAttributeValues={
                ":wanted": {"S": wanted},
                ":status": {"S": status},
                ":now": {"S": str(datetime.now(tz=UTC))},
            },
        )

    def _status(self) -> str:
        item = self.dynamodb.get_item(TableName=self.table, Key=ITEM, ConsistentRead=True).get("Item", {})
        return str(item.get("Data", {}).get("M", {}).get("status", {}).get("S", "UNKNOWN"))

    def _table_arn(self) -> str | None:
        try:
            return str(self.dynamodb.describe_table(TableName=self.table)["Table"]["TableArn"])
        except ClientError as error:
            if is_error(error, "ResourceNotFoundException"):
                return None
            raise

    def _remember(self, table_arn: str, status: str) -> None:
        self.dynamodb.tag_resource(ResourceArn=table_arn, Tags=[{"Key": TAG, "Value": status}])

    def _tag(self, table_arn: str | None) -> str | None:
        tags = self.dynamodb.list_tags_of_resource(ResourceArn=table_arn)["Tags"]
        return next((str(tag["Value"]) for tag in tags if tag["Key"] == TAG), None)
