"""Which address ranges hold which."""

from ipaddress import IPv4Network, IPv6Network, ip_network


def holds(wider: str, narrower: str) -> bool:
    """Return whether all addresses of one range are in another one.

    Args:
        wider: a range such as `10.0.0.0/8`, or any text.
        narrower: a range, or any text: what is not a range is held by the same text alone.
    """
    if wider == narrower:
        return True
    one, other = _network(wider), _network(narrower)
    if isinstance(one, IPv4Network) and isinstance(other, IPv4Network):
        return other.subnet_of(one)
    if isinstance(one, IPv6Network) and isinstance(other, IPv6Network):
        return other.subnet_of(one)
    return False


def is_everybody(text: str) -> bool:
    """Return whether a range has every address."""
    network = _network(text)
    return network is not None and network.prefixlen == 0


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None
