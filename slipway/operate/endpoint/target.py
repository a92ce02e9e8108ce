"""What is asked: one model behind a base URL, with what it takes to reach it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from slipway.errors import RefusedError

Authentication = Literal["none", "key", "api_key", "jwt", "cognito"]
"""How an endpoint authenticates. `key`: there is a key, and nobody says what kind of one."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """How to reach an endpoint from here.

    Attributes:
        connect_to: host and port to connect to instead of the URL's, such as a port forwarding; name and certificate
            are still those of the URL.
        ca_file: PEM file of certificate authorities to trust beside the system's.
        timeout_seconds: longest wait for a connection, and for the next byte.
    """

    connect_to: tuple[str, int] | None = None
    ca_file: Path | None = None
    timeout_seconds: float = 120


@dataclass(frozen=True, kw_only=True)
class Target:
    """A model that clients ask.

    Attributes:
        name: what to call it to the user.
        base_url: base URL of an OpenAI client, without a slash at its end.
        model: the id that clients send; none asks the endpoint for its first one.
        authentication: how the endpoint authenticates.
        key: what clients send as `Authorization: Bearer`.
        engine: inference engine behind it, a row of the facts; None when it is not known.
        way: how to reach it.
    """

    name: str
    base_url: str
    model: str | None
    authentication: Authentication
    key: str | None = field(repr=False)
    engine: str | None = None
    way: Way = Way()

    @property
    def encrypted(self) -> bool:
        """Whether it speaks TLS."""
        return urlsplit(self.base_url).scheme == "https"

    @property
    def host(self) -> str:
        """Name that it is asked by."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def port(self) -> int:
        """TCP port of the URL."""
        return urlsplit(self.base_url).port or (443 if self.encrypted else 80)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that a connection really goes to."""
        return self.way.connect_to or (self.host, self.port)

    @property
    def roots(self) -> tuple[str, ...]:
        """URLs without a path, below which an engine's other routes would be: the host's, and a path prefix's."""
        parts = urlsplit(self.base_url)
        host = f"{parts.scheme}://{parts.netloc}"
        prefix = parts.path.removesuffix("/v1").rstrip("/")
        return (host, f"{host}{prefix}") if prefix else (host,)


def checked_base_url(url: str) -> str:
    """Return a base URL in one form, without a slash at its end.

    Raises:
        RefusedError: it is not a http or https URL of a host.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise RefusedError(f"{url!r} is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RefusedError(f"{url!r} is not a base URL: write it as https://llm.example.com/v1")
    if parts.username or parts.password:
        raise RefusedError("the URL holds a user or password: put the key into OPENAI_API_KEY instead")
    if parts.query or parts.fragment:
        raise RefusedError(f"{url!r} has a query or fragment, which a base URL has not: write https://HOST/v1")
    return url.rstrip("/")
