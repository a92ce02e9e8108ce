"""The compute fleet's status in DynamoDB, as the head node's two scripts `*-compute-fleet-status.sh` read and set it.

    python -m tests.live_cluster.fleet_status TABLE [STATUS]

After aws-parallelcluster-cookbook (commit f75d84c), cookbooks/aws-parallelcluster-computefleet/files/
compute_fleet_status/compute_fleet_status.py: a status is only set in the place of RUNNING.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import boto3

KEY = {"Id": {"S": "COMPUTE_FLEET"}}


def status(dynamodb: Any, table: str) -> dict[str, str]:
    """Return status and the time of its last change."""
    data = dynamodb.get_item(TableName=table, Key=KEY, ConsistentRead=True)["Item"]["Data"]["M"]
    return {name: data[name]["S"] for name in ("status", "lastStatusUpdatedTime")}


def replace_status(dynamodb: Any, table: str, old: str, new: str) -> None:
    """Set a status in the place of another."""
    dynamodb.update_item(
        TableName=table,
        Key=KEY,
        UpdateExpression="SET #data.#status = :new",
        ConditionExpression="#data.#status = :old",
        ExpressionAttributeNames={"#data": "Data", "#status": "status"},
        ExpressionAttributeValues={":new": {"S": new}, ":old": {"S": old}},
    )


def main(table: str, wanted: str | None = None) -> None:
    """Print the status, or set it."""
    dynamodb = boto3.client("dynamodb")
    if wanted is None:
        print(json.dumps(status(dynamodb, table)))
    elif status(dynamodb, table)["status"] != wanted:
        replace_status(dynamodb, table, "RUNNING", wanted)


if __name__ == "__main__":
    main(*sys.argv[1:])
