"""Which connections the security groups of an assembly let through."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from slipway import facts
from slipway.assembly.existing_network import existing_network
from slipway.review.changes.permissions.security_groups import Direction, Rule, rules_of
from slipway.review.wiring.interfaces import Attached, attached, own_rules
from slipway.review.wiring.resources import Resources
from slipway.review.wiring.routes import SUBNET, Routes

Protocol = Literal["tcp", "udp"]

_NFS_PORT = 2049
"""Amazon EFS user guide, "Using VPC security groups"."""

_KUBELET_PORT = 10_250
"""Amazon EKS user guide, "View Amazon EKS security group requirements for clusters"."""


@dataclass(frozen=True)
class Ports:
    """A range of ports, first and last."""

    protocol: Protocol
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.protocol} {self.first}" + (f"-{self.last}" if self.last != self.first else "")


@dataclass(frozen=True)
class Service:
    """A server, and the ports that it and its clients listen on.

    Attributes:
        target: the server.
        names: `stack/logical id` of the resources that its clients refer to.
        ports: the server's ports.
        calls: ports of its clients, and of its own other servers, that it connects to.
    """

    target: Attached
    names: frozenset[str]
    ports: tuple[Ports, ...]
    calls: tuple[Ports, ...] = ()


class Connections:
    """What has an address in a VPC, and the security group rules between all of it."""

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self.routes = Routes(resources)
        self.attached = tuple(attached(resources))
        existing = existing_network(stack.template for stack in resources.stacks)
        self._elsewhere = existing.cidr if existing else None
        subnets = [str(subnet.at("CidrBlock")) for subnet in resources.of_type(SUBNET)]
        self._subnet_ranges = (*subnets, existing.cidr) if existing else tuple(subnets)
        own = tuple(own_rules(resources))
        self._own_groups = {rule.group for rule in own}
        self._rules: dict[tuple[str, Direction], list[Rule]] = {}
        for rule in (*rules_of(resources.by_key), *own):
            self._rules.setdefault((rule.group, rule.direction), []).append(rule)

    def lets(self, direction: Direction, one: Attached, other: Attached, ports: Ports) -> bool:
        """Return whether a security group lets a connection through.

        Args:
            direction: `out` for what `one` begins, `in` for what `other` begins.
            one: whose groups are looked at. A group of which the templates say nothing lets everything through.
            other: who is at the other end.
            ports: where the connection goes to.
        """
        ranges = self._ranges(other)
        for group in one.groups:
            if not self._is_known(group):
                return True
            if any(self.has_rule(group, direction, peer, ports) for peer in other.groups):
                return True
            if ranges and all(self.has_rule(group, direction, each, ports) for each in ranges):
                return True
        return not one.groups

    def has_rule(self, group: str, direction: Direction, peer: str, ports: Ports) -> bool:
        """Return whether a rule lets a peer through.

        Args:
            group: whose rule.
            direction: `in` or `out`.
            peer: a range of addresses, or a group.
            ports: which ports.
        """
        wanted = Rule("", group, direction, ports.protocol, (ports.first, ports.last), peer, peer)
        return any(rule.covers(wanted) for rule in self._rules.get((group, direction), ()))

    def has_rule_for_itself(self, group: str, direction: Direction) -> bool:
        """Return whether a rule with the group itself as peer lets through everything; a range does not count."""
        return any(
            rule.peer == group and rule.protocol == "-1" for rule in self._rules.get((group, direction), ())
        ) or not self._is_known(group)

    def one_sided(self) -> Iterator[Rule]:
        """Yield the rules between two known groups of which the other group has no answering rule."""
        for (group, direction), rules in self._rules.items():
            other: Direction = "out" if direction == "in" else "in"
            for rule in rules:
                # A range that holds a whole subnet can have the group's members, too.
                peers = (group, *self._subnet_ranges)
                wanted = [replace(rule, group=rule.peer, direction=other, peer=each, addresses=each) for each in peers]
                answers = self._rules.get((rule.peer, other), ())
                if self._is_known(rule.peer) and not any(each.covers(one) for each in answers for one in wanted):
                    yield rule

    def listens(self, group: str, ports: Ports) -> bool:
        """Return whether a group lets anyone in at some ports."""
        rules = self._rules.get((group, "in"), ())
        return not self._is_known(group) or any(self.has_rule(group, "in", rule.peer, ports) for rule in rules)

    def ports_without_listener(self, group: str, listeners: Sequence[Ports]) -> Ports | None:
        """Return the ports of an ingress rule for TCP or UDP on which nothing listens."""
        for rule in self._rules.get((group, "in"), ()):
            first, last = rule.ports
            if rule.protocol not in ("tcp", "udp") or not isinstance(first, int) or not isinstance(last, int):
                continue
            if not any(ports.protocol == rule.protocol and first <= ports.first <= last for ports in listeners):
                return Ports("tcp" if rule.protocol == "tcp" else "udp", first, last)
        return None

    def services(self) -> Iterator[Service]:
        """Yield the file systems, databases and control planes of the stacks."""
        for each in self.attached:
            match each.resource.type, each.resource.at("FileSystemType"):
                case "AWS::FSx::FileSystem", "LUSTRE":
                    # All deployment types have the same ports.
                    ports = next(iter(facts.lustre_deployments().values())).ports
                    yield Service(each, frozenset({each.resource.key}), _tcp(ports), calls=_tcp(ports))
                case "AWS::FSx::FileSystem", "OPENZFS":
                    ports = next(iter(facts.open_zfs_deployments().values())).ports
                    both = (*_tcp(ports), *(Ports("udp", first, last) for first, last in ports))
                    yield Service(each, frozenset({each.resource.key}), both)
                case "AWS::RDS::DBInstance", _:
                    engine = facts.database_engines().get(str(each.resource.at("Engine")))
                    port = str(each.resource.at("Port") or (engine.port if engine else ""))
                    # A parameter's value is not known.
                    if port.isdecimal():
                        yield Service(each, frozenset({each.resource.key}), _tcp(((int(port), int(port)),)))
                case "AWS::EKS::Cluster", _:
                    api, kubelet = _tcp(((443, 443),)), _tcp(((_KUBELET_PORT, _KUBELET_PORT),))
                    yield Service(each, frozenset({each.resource.key}), api, calls=kubelet)
                case "AWS::EFS::MountTarget", _:
                    found = self.resources.resource(each.resource.at("FileSystemId"), "AWS::EFS::FileSystem")
                    names = {each.resource.key} | ({found.key} if found else set())
                    yield Service(each, frozenset(names), _tcp(((_NFS_PORT, _NFS_PORT),)))

    def _is_known(self, group: str) -> bool:
        return group in self._own_groups or self.resources.resource(group, "AWS::EC2::SecurityGroup") is not None

    def _ranges(self, each: Attached) -> list[str]:
        found = [self.routes.subnet(subnet) for subnet in each.subnets]
        ranges = [subnet.at("CidrBlock") if subnet else self._elsewhere for subnet in found]
        return [str(each) for each in ranges] if all(ranges) else []


def _tcp(ranges: tuple[tuple[int, ...], ...]) -> tuple[Ports, ...]:
    return tuple(Ports("tcp", first, last) for first, last in ranges)
