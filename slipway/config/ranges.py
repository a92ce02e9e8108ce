"""Reads IPv4 ranges and says what is wrong with one."""

from collections.abc import Iterable, Iterator
from ipaddress import AddressValueError, IPv4Network, NetmaskValueError, collapse_addresses

from slipway.config.problems import Finding, Path

PRIVATE_RANGES = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
"""What no one in the internet owns: RFC 1918 and RFC 6598."""

WIDEST_PREFIX_LENGTH = 8
"""The widest range that one organization has: a /8, such as 10.0.0.0/8. What is wider lets strangers in."""

RESERVED_ADDRESSES = 5
"""What EC2 keeps of each subnet: the first four addresses and the last (Amazon VPC user guide, subnet sizing)."""


def parse_range(text: str) -> IPv4Network | None:
    """Return the range that a text such as `10.40.0.0/16` names; None when it names none or has host bits."""
    try:
        return IPv4Network(text)
    except ValueError:
        return None


def too_wide(texts: Iterable[str]) -> list[IPv4Network]:
    """Return the ranges wider than `WIDEST_PREFIX_LENGTH` that these make together: two /9 side by side are a /8."""
    ranges = [parsed for text in texts if (parsed := parse_range(text)) is not None]
    return [joined for joined in collapse_addresses(ranges) if joined.prefixlen < WIDEST_PREFIX_LENGTH]


def range_finding(path: Path, text: str) -> Iterator[Finding]:
    """Yield a finding when a text is not an IPv4 range or has host bits."""
    if parse_range(text) is not None:
        return
    try:
        without_host_bits = IPv4Network(text, strict=False)
    except (AddressValueError, NetmaskValueError):
        message = f"is not an IPv4 range (got '{text}')"
        yield Finding(path, message, "Write four numbers up to 255, a slash and a length up to 32: 10.40.0.0/16.")
    else:
        yield Finding(path, f"{text} names a host inside a range", f"Write {without_host_bits}.")
