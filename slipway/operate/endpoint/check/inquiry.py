"""One run of the checks against one target: its clients, and what earlier checks mean for later ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from slipway.operate.endpoint.http_client import Trouble, trouble
from slipway.operate.endpoint.target import Target


@dataclass
class Inquiry:
    """What the checks share.

    Attributes:
        target: what is asked.
        with_key: client that sends the key, where there is one.
        without_key: client that sends none.
        with_wrong_key: client that sends a wrong one.
        model: the id to ask for; a check finds it where the target does not say.
        unreachable: why nothing at all can be asked; None when it can.
        not_serving: why no text can be asked for; None when it can.
    """

    target: Target
    with_key: httpx2.AsyncClient
    without_key: httpx2.AsyncClient
    with_wrong_key: httpx2.AsyncClient
    model: str = ""
    unreachable: str | None = None
    not_serving: str | None = None

    async def get(self, client: httpx2.AsyncClient, url: str) -> httpx2.Response | Trouble:
        """Return an answer of any status, or why there is none."""
        return await self._ask(client, "GET", url)

    async def post(self, client: httpx2.AsyncClient, path: str, body: Mapping[str, Any]) -> httpx2.Response | Trouble:
        """Return an answer of any status, or why there is none. The path is below the base URL."""
        return await self._ask(client, "POST", f"{self.target.base_url}{path}", json.dumps(body))

    async def _ask(
        self, client: httpx2.AsyncClient, method: str, url: str, body: str | None = None
    ) -> httpx2.Response | Trouble:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            return await client.request(method, url, content=body, headers=headers)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return trouble(error, self.target.way)
