"""Reads IPv4 ranges and says what is wrong with one."""

from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Network, NetmaskValueError

from slipway.spec.problems import Finding, Path

PRIVATE_RANGES = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
"""What no one in the internet owns: RFC 1918 and RFC 6598."""

RESERVED_ADDRESSES = 5
"""What EC2 keeps of each subnet: the first four addresses and the last (Amazon VPC user guide, subnet sizing)."""


def parse_range(text: str) -> IPv4Network | None:
    """Return the range that a text such as `10.40.0.0/16` names; None when it names none or has host bits."""
    try:
        return IPv4Network(text)
    except ValueError:
        return None


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
