"""What stands in an account, listed through public AWS APIs: the calls are rows of inventory.yaml."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import jmespath  # comes with boto3
import yaml
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import BaseModel, ConfigDict

from slipway.rehearsal.errors import RehearsalError
from slipway.rehearsal.isolation import require_loopback

_ROWS = Path(__file__).with_name("inventory.yaml")

Inventory = Mapping[str, tuple[str, ...]]
"""Names of what stands, by kind; kinds of which nothing stands are left out."""


class InventoryError(RehearsalError):
    """A list call got no answer, so nobody can say whether something is left."""


class ListCall(BaseModel):
    """A call of a list or describe operation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    operation: str
    """Name of the operation in boto3, for example `describe_vpcs`."""

    parameters: dict[str, Any] = {}
    """Its parameters."""

    path: str
    """JMESPath expression that takes the names out of an answer; its filters leave out what AWS itself made or has
    already deleted."""

    for_each: "ParentCall | None" = None
    """Lists the parents, when the call needs one, as ECS services need their cluster."""


class ParentCall(ListCall):
    """A call that lists the parents of another."""

    parameter: str
    """The other call's parameter that each name goes into."""


class InventoryRow(ListCall):
    """One kind of thing and the call that lists it."""

    kind: str
    """What it is, in AWS's words."""

    service: str
    """Service name in boto3."""

    types: tuple[str, ...]
    """The CloudFormation types that this list would show, itself or as a part of what it lists."""


@cache
def rows() -> tuple[InventoryRow, ...]:
    """Return the rows of inventory.yaml."""
    content = yaml.safe_load(_ROWS.read_text(encoding="utf-8"))
    return tuple(InventoryRow.model_validate(row) for row in content["rows"])


def take_inventory(endpoint: str, region: str) -> Inventory:
    """List everything that stands at the endpoint.

    Args:
        endpoint: URL of the emulator.
        region: AWS Region to list.

    Raises:
        InventoryError: a call got no answer.
        NotLoopbackError: the endpoint is not on this machine.
    """
    require_loopback(endpoint)
    config = Config(retries={"total_max_attempts": 2}, s3={"addressing_style": "path"})
    clients: dict[str, BaseClient] = {}
    found: dict[str, tuple[str, ...]] = {}
    for row in rows():
        if row.service not in clients:
            clients[row.service] = boto3.client(
                row.service,  # type: ignore[call-overload]  # the stubs know services by literal names only
                endpoint_url=endpoint,
                region_name=region,
                config=config,
            )
        try:
            names = tuple(sorted(_names(clients[row.service], row)))
        except (BotoCoreError, ClientError) as error:
            raise InventoryError(f"no list of {row.kind} ({row.service} {row.operation}): {error}") from error
        if names:
            found[row.kind] = names
    return found


def _names(client: BaseClient, call: ListCall) -> Iterator[Any]:
    if call.for_each is None:
        yield from _call(client, call, {})
        return
    for parent in _names(client, call.for_each):
        yield from _call(client, call, {call.for_each.parameter: parent})


def _call(client: BaseClient, call: ListCall, further: Mapping[str, Any]) -> Iterator[Any]:
    parameters = {**call.parameters, **further}
    pages: Sequence[Any] | Iterator[Any]
    if client.can_paginate(call.operation):
        pages = iter(client.get_paginator(call.operation).paginate(**parameters))
    else:
        pages = [getattr(client, call.operation)(**parameters)]
    for page in pages:
        yield from jmespath.search(call.path, page) or []


def added(before: Inventory, after: Inventory) -> Inventory:
    """Return what stands after and did not stand before."""
    difference = {
        kind: tuple(name for name in names if name not in before.get(kind, ())) for kind, names in after.items()
    }
    return {kind: names for kind, names in difference.items() if names}
