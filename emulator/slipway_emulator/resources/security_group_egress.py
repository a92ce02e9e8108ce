"""Egress rules that are resources of their own: the first one of a group replaces EC2's allow-all rule."""

import threading
from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError

from slipway_emulator.clients import Clients
from slipway_emulator.resources.handler import Provisioned, Request
from slipway_emulator.resources.row import Row
from slipway_emulator.resources.row_handler import RowHandler

_ALLOW_ALL: list[dict[str, Any]] = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]


class SecurityGroupEgressHandler(RowHandler):
    """Creates the rule by its row, once the group's default rule is gone."""

    def __init__(self, row: Row, clients: Clients) -> None:
        super().__init__(row, clients)
        self._groups_without_default: set[str] = set()
        self._lock = threading.Lock()

    def create(self, request: Request) -> Provisioned:
        """Authorize the rule."""
        group = str(request.properties["GroupId"])
        with self._lock:
            first_of_group = group not in self._groups_without_default
            self._groups_without_default.add(group)
        if first_of_group:
            client = self._clients.get("ec2", request.stack.region)
            with suppress(ClientError):  # the group never had it, or does not exist: the next call says so
                client.revoke_security_group_egress(GroupId=group, IpPermissions=_ALLOW_ALL)
        return super().create(request)
