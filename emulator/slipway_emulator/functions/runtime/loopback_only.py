"""Refuses connections of a Python process to any address that is not loopback.

The emulator and every Python process it starts install this guard: an endpoint that was overlooked must fail
loudly, never reach AWS.
"""

import ipaddress
import sys
from typing import Any

_LOCAL_NAMES = frozenset({"localhost", ""})


class NotLoopbackError(OSError):
    """A connection to an address outside this machine was refused."""


def is_loopback(host: object) -> bool:
    """Whether a host, as name or address, is this machine."""
    if host is None:
        return True
    text = host.decode() if isinstance(host, bytes) else str(host)
    if text in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(text.split("%")[0]).is_loopback
    except ValueError:
        return False


def _check(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # a path is a Unix socket
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if not is_loopback(host):
        raise NotLoopbackError(f"the rehearsal talks to loopback only; refused: {host}")


def install() -> None:
    """Guard this process for the rest of its life."""
    sys.addaudithook(_check)
