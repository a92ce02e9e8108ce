"""Bucket policies: one statement has to be held back, because loopback is plain http."""

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from slipway.rehearsal.emulator.clients import Clients
from slipway.rehearsal.emulator.failures import ProvisioningFailure
from slipway.rehearsal.emulator.ledger import Backing, Ledger
from slipway.rehearsal.emulator.resources.handler import Existing, Provisioned, Request

_TLS_CONDITION = "aws:SecureTransport"


class BucketPolicyHandler:
    """Puts the policy on its bucket without the statements that deny everything but TLS."""

    backing: Backing = "api"

    def __init__(self, clients: Clients, ledger: Ledger) -> None:
        self._clients = clients
        self._ledger = ledger

    def create(self, request: Request) -> Provisioned:
        """Put the policy."""
        bucket = request.properties["Bucket"]
        self._put(request, bucket)
        return Provisioned(bucket)

    def can_update(self, changed: frozenset[str]) -> bool:
        """The document can change; another bucket is another policy."""
        return changed == {"PolicyDocument"}

    def update(self, request: Request, existing: Existing, changed: frozenset[str]) -> Provisioned:  # noqa: ARG002
        """Put the new document."""
        self._put(request, existing.physical_id)
        return Provisioned(existing.physical_id)

    def delete(self, request: Request, existing: Existing) -> None:
        """Take the policy off, if the bucket is still there."""
        client = self._clients.get("s3", request.stack.region)
        try:
            client.delete_bucket_policy(Bucket=existing.physical_id)
        except client.exceptions.NoSuchBucket:
            return

    def _put(self, request: Request, bucket: str) -> None:
        document = dict(request.properties["PolicyDocument"])
        statements = document["Statement"]
        statements = statements if isinstance(statements, list) else [statements]
        kept = [statement for statement in statements if not _denies_plain_http(statement)]
        if len(kept) < len(statements):
            self._ledger.held_back(
                request.stack.name,
                request.logical_id,
                f"Deny statement on {_TLS_CONDITION}",
                "the emulator speaks plain http: the statement would lock everyone out",
            )
        if not kept:
            return
        client = self._clients.get("s3", request.stack.region)
        try:
            client.put_bucket_policy(Bucket=bucket, Policy=json.dumps({**document, "Statement": kept}))
        except ClientError as error:
            raise ProvisioningFailure(error.response["Error"].get("Message", str(error))) from error


def _denies_plain_http(statement: Mapping[str, Any]) -> bool:
    return statement.get("Effect") == "Deny" and _TLS_CONDITION in json.dumps(statement.get("Condition", {}))
