"""The resources of an account, listed through public AWS APIs with the calls in slipway/catalogue/services."""

from collections.abc import Mapping

import boto3
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from slipway.rehearse.errors import RehearsalError
from slipway.rehearse.isolation import require_loopback
from slipway.remove.leftovers.calls import listed
from slipway.remove.leftovers.kind import Kind, kinds

Inventory = Mapping[str, tuple[str, ...]]
"""Names of what exists, by kind; kinds without any are left out."""


class InventoryError(RehearsalError):
    """A list call got no answer, so nobody can say whether something is left."""


def rows() -> tuple[Kind, ...]:
    """Return the kinds that the emulator's backend can list."""
    return tuple(kind for kind in kinds() if kind.emulated)


def take_inventory(endpoint: str, region: str, account: str) -> Inventory:
    """List everything that stands at the endpoint.

    Args:
        endpoint: URL of the emulator.
        region: AWS Region to list.
        account: the account that the emulator plays.

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
            facts = {"account": account, "region": region}
            names = tuple(sorted(name for _, name in listed(clients[row.service], row, row.path, facts)))
        except (BotoCoreError, ClientError) as error:
            raise InventoryError(f"no list of {row.kind} ({row.service} {row.operation}): {error}") from error
        if names:
            found[row.kind] = names
    return found


def added(before: Inventory, after: Inventory) -> Inventory:
    """Return what exists after and did not exist before."""
    difference = {
        kind: tuple(name for name in names if name not in before.get(kind, ())) for kind, names in after.items()
    }
    return {kind: names for kind, names in difference.items() if names}
