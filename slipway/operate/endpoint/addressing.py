"""What the command line says about whom to ask, and the key to ask with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from slipway.errors import RefusedError
from slipway.operate.endpoint.deployed import find_targets
from slipway.operate.endpoint.target import Target, Way, checked_base_url

KEY_VARIABLE = "OPENAI_API_KEY"
"""The environment variable that OpenAI clients read their key from."""

NO_KEY = "none"
"""What clients that insist on a key are given for an endpoint without authentication."""


@dataclass(frozen=True)
class Address:
    """Whom to ask, as the command line says it.

    Attributes:
        environment: name or file of a deployed environment.
        url: base URL of any endpoint, instead.
        model: a model's name in the environment file; with a URL, the id that clients send.
        way: how to reach it.
    """

    environment: str | None
    url: str | None
    model: str | None
    way: Way

    def targets(self, variables: Mapping[str, str] = os.environ) -> list[Target]:
        """Return what to ask.

        Raises:
            RefusedError: it is not said, wrong, not there, or there are no credentials.
        """
        if (self.environment is None) == (self.url is None):
            raise RefusedError("say whom to ask: -e ENVIRONMENT, or --url BASE_URL; one of them")
        key = variables.get(KEY_VARIABLE, "").strip()
        key = "" if key == NO_KEY else key
        if self.environment is not None:
            return find_targets(self.environment, self.model, key or None, self.way)
        url = checked_base_url(str(self.url))
        return [
            Target(
                name=self.model or "endpoint",
                base_url=url,
                model=self.model,
                authentication="key" if key else "none",
                key=key or None,
                way=self.way,
            )
        ]


def parse_connect_to(text: str | None) -> tuple[str, int] | None:
    """Return host and port of `HOST:PORT`.

    Raises:
        RefusedError: it is not of that form.
    """
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise RefusedError(f"--connect-to {text}: write HOST:PORT, for example localhost:8443")
    return host.strip("[]"), int(port)
