"""The compute fleet's status in DynamoDB, as the head node's two scripts `*-compute-fleet-status.sh` read and set it.

    python -m tests.live_cluster.fleet_status TABLE [STATUS]

After aws-parallelcluster-cookbook (commit f75d84c), cookbooks/aws-parallelcluster-computefleet/files/
compute_fleet_status/compute_fleet_status.py: a status is only set in the place of RUNNING.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from functools import partial
from types import SimpleNamespace
from typing import Any

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


def _answer(operation: str, **parameters: Any) -> Any:
    """Call the emulated DynamoDB, which reads the service from the header and does not verify the signature."""
    scope = f"{os.environ['AWS_ACCESS_KEY_ID']}/20260101/{os.environ['AWS_DEFAULT_REGION']}/dynamodb/aws4_request"
    headers = {
        "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=none",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
    }
    body = json.dumps(parameters).encode()
    with urllib.request.urlopen(urllib.request.Request(os.environ["AWS_ENDPOINT_URL"], body, headers)) as answer:
        return json.load(answer)


def main(table: str, wanted: str | None = None) -> None:
    """Print the status, or set it."""
    # Not boto3's client: boto3 takes half a second to start, and clustermgtd runs this every six seconds.
    dynamodb = SimpleNamespace(get_item=partial(_answer, "GetItem"), update_item=partial(_answer, "UpdateItem"))
    if wanted is None:
        print(json.dumps(status(dynamodb, table)))
    elif status(dynamodb, table)["status"] != wanted:
        replace_status(dynamodb, table, "RUNNING", wanted)


if __name__ == "__main__":
    main(*sys.argv[1:])
