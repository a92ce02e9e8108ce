"""The AWS account that is asked; nothing in it is changed."""

from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config

_CONFIGURATION = Config(retries={"mode": "standard", "total_max_attempts": 4}, connect_timeout=5, read_timeout=20)
"""Throttled calls are tried again a few times; nobody waits for minutes."""


@dataclass(frozen=True)
class Account:
    """An account and a Region, with the credentials that boto3 finds.

    Attributes:
        region: AWS Region.
        session: where clients come from.
    """

    region: str
    session: boto3.Session
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """Return the client of a service, made when first asked for."""
        if service not in self._clients:
            made: Any = self.session.client(service, region_name=self.region, config=_CONFIGURATION)  # type: ignore[call-overload]
            self._clients[service] = made
        return self._clients[service]
