"""The HTTP proxy of machines in private subnets."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from aws_cdk import aws_ec2 as ec2


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """An HTTP proxy, and what is reached without it."""

    url: str
    """`http://HOST:PORT`, without user and password."""

    bypass: tuple[str, ...]
    """Names, domains with a dot in front, addresses and ranges, as `NO_PROXY` has them."""

    @property
    def no_proxy(self) -> str:
        """The value of `NO_PROXY`."""
        return ",".join(self.bypass)

    @property
    def port(self) -> int:
        """The proxy's TCP port."""
        port = urlsplit(self.url).port
        assert port is not None
        return port


def let_reach(group: ec2.SecurityGroup, proxy: Proxy | None) -> None:
    """Let members of a group reach the proxy's port; HTTPS, which they may use already, needs no further rule.

    Args:
        group: a group that lets out HTTPS and little else.
        proxy: the proxy, if there is one.
    """
    if proxy and proxy.port != 443:
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(proxy.port), "HTTP proxy")
