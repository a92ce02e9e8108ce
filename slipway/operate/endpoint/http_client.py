"""The HTTP client that asks: trust, port forwardings, and its errors in plain words.

httpx2 and not the openai client, which is built on it: that one tries 429 and 5xx again by itself and hides what is
measured and judged here.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass

import httpx2

from slipway.errors import RefusedError
from slipway.operate.endpoint.target import Target, Way

CONNECT_SECONDS = 10.0
"""Longest wait for a connection."""


@dataclass(frozen=True)
class Trouble:
    """Why an answer did not come, or was none.

    Attributes:
        kind: a short name, the same for the same cause.
        found: what was seen.
        advice: what to do.
    """

    kind: str
    found: str
    advice: str


def tls_context(way: Way) -> ssl.SSLContext:
    """Return what a connection trusts: the system's certificate authorities, and those of the file.

    Raises:
        RefusedError: the file cannot be read, or holds no certificate.
    """
    context = httpx2.create_ssl_context()
    if way.ca_file is not None:
        try:
            context.load_verify_locations(str(way.ca_file))
        except (OSError, ssl.SSLError) as error:
            raise RefusedError(f"--ca-file {way.ca_file}: no certificates in PEM form there ({error})") from error
    return context


def open_client(target: Target, *, key: str | None, trust: ssl.SSLContext, connections: int = 10) -> httpx2.AsyncClient:
    """Return a client that follows no redirect and tries nothing twice.

    Args:
        target: what will be asked.
        key: what to send as `Authorization: Bearer`; none sends no such header.
        trust: what `tls_context` returns; clients may share it, which is slow to make.
        connections: connections that may be open at a time.
    """
    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
    timeout = httpx2.Timeout(
        target.way.timeout_seconds, connect=min(target.way.timeout_seconds, CONNECT_SECONDS), pool=None
    )
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if target.way.connect_to is None:
        return httpx2.AsyncClient(headers=headers, timeout=timeout, limits=limits, verify=trust)
    elsewhere = _Elsewhere(target.way.connect_to, httpx2.AsyncHTTPTransport(verify=trust, limits=limits))
    return httpx2.AsyncClient(headers=headers, timeout=timeout, transport=elsewhere)


class _Elsewhere(httpx2.AsyncBaseTransport):
    """Connects to another address than the URL's; the Host header and the name in TLS stay."""

    def __init__(self, address: tuple[str, int], transport: httpx2.AsyncHTTPTransport) -> None:
        self._address = address
        self._transport = transport

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "sni_hostname": request.url.host}
        host, port = self._address
        request.url = request.url.copy_with(host=host, port=port)
        return await self._transport.handle_async_request(request)

    async def aclose(self) -> None:
        await self._transport.aclose()


_STOPPED = "the engine stopped, or a time limit on the way ended the connection: see the engine's log"
_TROUBLES: tuple[tuple[type[Exception], str, str], ...] = (
    (
        httpx2.ConnectTimeout,
        "connect timeout",
        "packets are dropped on the way: you are outside the VPC or the allowed CIDRs, or a firewall is there",
    ),
    (
        httpx2.TimeoutException,
        "timeout",
        "the queue is longer than that, or the engine hangs: see its log, or raise --timeout",
    ),
    (httpx2.ConnectError, "connection failed", "nothing listens there, a firewall refuses you, or TLS fails"),
    (httpx2.SSEError, "no event stream", "something on the way takes streaming away, or cannot stream"),
    (httpx2.RemoteProtocolError, "connection lost", _STOPPED),
    (httpx2.NetworkError, "connection lost", _STOPPED),
    (httpx2.DecodingError, "broken answer", "something on the way changes the answer"),
)
"""Kind and advice by exception; the first that fits."""


def trouble(error: httpx2.HTTPError | httpx2.InvalidURL, way: Way) -> Trouble:
    """Say in plain words why no answer came."""
    found = str(error) or "the connection was closed within an answer"
    if isinstance(error, httpx2.TimeoutException):
        seconds = way.timeout_seconds
        is_early = isinstance(error, httpx2.ConnectTimeout)
        found = (
            f"no connection within {min(seconds, CONNECT_SECONDS):g} s" if is_early else f"no byte for {seconds:g} s"
        )
    for form, kind, advice in _TROUBLES:
        if isinstance(error, form):
            return Trouble(kind, found, advice)
    return Trouble(type(error).__name__, found, "the transport failed in an unusual way")
