"""Requests that no client library has touched: targets as they are written, for spellings that libraries tidy up."""

import http.client
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RawAnswer:
    """The answer to such a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def asked(
    connection: http.client.HTTPConnection, method: str, target: str, headers: Mapping[str, str] | None = None
) -> RawAnswer:
    """Send a request line exactly as given; the connection can be used again."""
    connection.request(method, target, headers=dict(headers or {}))
    answer = connection.getresponse()
    return RawAnswer(status=answer.status, headers=dict(answer.headers), body=answer.read())
