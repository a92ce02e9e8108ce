"""Rules about the HTTP proxy of nodes and hosts."""

import re
from collections.abc import Iterator

from slipway.config.environment import Environment
from slipway.config.network import Proxy
from slipway.config.problems import Finding
from slipway.config.ranges import parse_range, range_finding
from slipway.config.rules.registry import environment_rule
from slipway.config.section import InvalidPart

_URL = ("network", "proxy", "url")
_BYPASS = ("network", "proxy", "bypass")
_NUMBERS_AND_DOTS = re.compile(r"[0-9.]+")
_HIGHEST_PORT = 65535


def _proxy(environment: Environment) -> Proxy:
    """Return the section.

    Raises:
        InvalidPart: the environment has no proxy.
    """
    if environment.network.proxy is None:
        raise InvalidPart("proxy")
    return environment.network.proxy


@environment_rule
def proxy_without_credentials(environment: Environment) -> Iterator[Finding]:
    """The proxy's address has no user and password: they would be in templates and user data, readable by many."""
    if "@" in _proxy(environment).url:
        message = "it has a user or a password, and templates, user data and nodes would show them"
        yield Finding(_URL, message, "Write http://HOST:PORT, and let the proxy admit the VPC's addresses.")


@environment_rule
def proxy_address_valid(environment: Environment) -> Iterator[Finding]:
    """The proxy's address has a port from 1 to 65535; numbers as its host are an IPv4 address."""
    host, _, port = _proxy(environment).url.removeprefix("http://").rpartition("@")[2].partition(":")
    if not 1 <= int(port) <= _HIGHEST_PORT:
        yield Finding(_URL, f"{port} is not a port", f"Write a port from 1 to {_HIGHEST_PORT}: 3128.")
    if _NUMBERS_AND_DOTS.fullmatch(host) and not _is_address(host):
        yield Finding(_URL, f"{host} is not an IPv4 address", "Write four numbers up to 255: 10.80.0.10.")


@environment_rule
def proxy_bypass_valid(environment: Environment) -> Iterator[Finding]:
    """Addresses and ranges that bypass the proxy are IPv4, ranges without host bits."""
    for index, entry in enumerate(_proxy(environment).bypass):
        if "/" in entry:
            yield from range_finding((*_BYPASS, index), entry)
        elif _NUMBERS_AND_DOTS.fullmatch(entry) and not _is_address(entry):
            message = f"{entry} is not an IPv4 address"
            yield Finding((*_BYPASS, index), message, "Write four numbers up to 255: 10.80.0.10.")


@environment_rule
def proxy_without_kubernetes(environment: Environment) -> Iterator[Finding]:
    """Kubernetes and the proxy exclude each other: what runs in the cluster's pods does not use one."""
    _proxy(environment)
    if environment.kubernetes:
        message = "nodes and pods of Kubernetes do not use it: images and add-ons would not arrive"
        yield Finding(("network", "proxy"), message, "Remove it, or train with Slurm: a section training instead.")


def _is_address(text: str) -> bool:
    return parse_range(f"{text}/32") is not None
