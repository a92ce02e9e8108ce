"""boto3 clients of the emulated services."""

import json
import threading
from typing import Any

import boto3
from botocore.config import Config

from slipway_emulator.permissions.acting import HEADER, TAGS_HEADER, current, stack_tags
from slipway_emulator.permissions.guard import Guard
from slipway_emulator.settings import ACCESS_KEY, Settings


def _sign_for(params: dict[str, Any], **_: Any) -> None:
    params["headers"][HEADER] = current()
    params["headers"][TAGS_HEADER] = json.dumps(dict(stack_tags()))


class Clients:
    """Hands out one client for each service and region; clients are thread-safe, sessions are not.

    Their calls are those of whoever the thread acts for.

    Attributes:
        guard: decides what a service does without a call.
    """

    def __init__(self, settings: Settings, guard: Guard) -> None:
        self.endpoint = settings.endpoint
        self.guard = guard
        self._session = boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=ACCESS_KEY)
        self._session.events.register("before-call", _sign_for)
        # As every SDK does: beside other work, moto has answered 500 to a call that succeeds otherwise.
        self._config = Config(
            retries={"total_max_attempts": 3, "mode": "standard"},
            read_timeout=120,
            s3={"addressing_style": "path"},
            proxies={},
        )
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def get(self, service: str, region: str) -> Any:
        """The client of a service, such as ``ec2``, in a region."""
        key = (service, region)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = self._session.client(
                    service,  # type: ignore[call-overload]  # the name is data here, not a literal
                    region_name=region,
                    endpoint_url=self.endpoint,
                    config=self._config,
                )
            return self._clients[key]
