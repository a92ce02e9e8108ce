"""What security groups let through and did not let through before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from slipway.review.changes.model import Harm, WiderAccess
from slipway.review.changes.permissions.addresses import holds, is_everybody
from slipway.review.changes.permissions.alternatives import alternatives, rows
from slipway.review.changes.permissions.words import words
from slipway.review.changes.resources import Resource

Direction = Literal["in", "out"]
Port = int | str
"""A number, or a reference to what only a service knows, such as the port of a database."""

_INLINE: Mapping[str, Direction] = {"SecurityGroupIngress": "in", "SecurityGroupEgress": "out"}
_SEPARATE: Mapping[str, Direction] = {"AWS::EC2::SecurityGroupIngress": "in", "AWS::EC2::SecurityGroupEgress": "out"}
_PEERS = (
    *("CidrIp", "CidrIpv6", "SourceSecurityGroupId", "SourceSecurityGroupName", "DestinationSecurityGroupId"),
    *("SourcePrefixListId", "DestinationPrefixListId"),
)
ALL_PORTS = (0, 65535)
EVERYBODY = "0.0.0.0/0"
# https://www.iana.org/assignments/protocol-numbers
_PROTOCOLS = {"1": "icmp", "6": "tcp", "17": "udp", "58": "icmpv6"}
# Of the two ends of such a rule neither is a port.
_WITHOUT_PORTS = ("icmp", "icmpv6")
# The CDK writes a rule to this address into a group that lets nothing out, since without rules EC2 lets out everything.
# https://github.com/aws/aws-cdk/blob/main/packages/aws-cdk-lib/aws-ec2/lib/security-group.ts
_NOBODY = "255.255.255.255/32"


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        owner: the resource whose template holds it, `stack/logical id`.
        group: the group that it belongs to, a reference.
        direction: `in` lets others reach the group, `out` lets the group reach others.
        protocol: such as `tcp`; `-1` for all.
        ports: first and last; for ICMP its type and code, of which -1 is all.
        peer: an address range, a group or a prefix list.
        addresses: the same, where `peer` names a VPC in the place of its range.
    """

    owner: str
    group: str
    direction: Direction
    protocol: str
    ports: tuple[Port, Port]
    peer: str
    addresses: str

    def covers(self, other: "Rule") -> bool:
        """Return whether this one lets through all that the other one does."""
        if (self.group, self.direction) != (other.group, other.direction) or not self._has_peer(other):
            return False
        if self.protocol == "-1":
            return True
        return self.protocol == other.protocol and self._has_ports(other.ports)

    def _has_peer(self, other: "Rule") -> bool:
        if holds(self.peer, other.peer) or holds(self.addresses, other.addresses):
            return True
        # A group or a prefix list.
        return self.peer == EVERYBODY and "/" not in other.peer.rpartition("}")[2]

    def _has_ports(self, ports: tuple[Port, Port]) -> bool:
        if self.protocol in _WITHOUT_PORTS:
            return all(mine in (-1, end) for mine, end in zip(self.ports, ports, strict=True))
        ends = (*self.ports, *ports)
        if any(isinstance(end, str) for end in ends):
            return self.ports in (ports, ALL_PORTS)
        first, last, other_first, other_last = (int(end) for end in ends)
        return first <= other_first and other_last <= last

    @property
    def harm(self) -> Harm:
        """What lets everybody in is public; what may go out to everywhere lets nobody in."""
        return "public" if self.direction == "in" and is_everybody(self.peer) else "network"

    @property
    def sentence(self) -> str:
        """The rule in words."""
        if self.direction == "in":
            return f"{self._traffic} from {words(self.peer)} to {words(self.group)}"
        return f"{self._traffic} from {words(self.group)} to {words(self.peer)}"

    @property
    def _traffic(self) -> str:
        if self.protocol == "-1":
            return "Everything"
        first, last = self.ports
        if self.ports in (ALL_PORTS, (-1, -1)):
            return f"All {self.protocol}"
        return f"{self.protocol} {first}" if first == last else f"{self.protocol} {first}-{last}"


def security_group_wider_access(before: Mapping[str, Resource], after: Mapping[str, Resource]) -> Iterator[WiderAccess]:
    """Yield the rules that let through what no rule of before did.

    A group without any rule for what goes out lets out everything. The range of a VPC counts as the VPC too, so that a
    VPC with another range widens nothing.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-ec2-securitygroup.html
    """
    old = tuple(rules_of(before))
    for rule in dict.fromkeys(rules_of(after)):
        if not any(other.covers(rule) for other in old):
            owner = after[rule.owner]
            yield WiderAccess(
                stack=owner.stack,
                resource=owner.logical_id,
                kind="security_group",
                harm=rule.harm,
                what=rule.sentence,
            )


def rules_of(resources: Mapping[str, Resource]) -> Iterator[Rule]:
    """Yield the rules of all security groups.

    Args:
        resources: those of an assembly by `stack/logical id`.
    """
    vpcs = {
        str(row.properties.get("CidrBlock")): f"${{{key}.CidrBlock}}"
        for key, row in resources.items()
        if row.type == "AWS::EC2::VPC"
    }
    limited = {
        group_of(row.properties.get("GroupId")) for row in resources.values() if _SEPARATE.get(row.type) == "out"
    }
    for key, resource in resources.items():
        properties, group = resource.settled.get("Properties", {}), f"${{{key}}}"
        if resource.type in _SEPARATE:
            yield from _read(key, group_of(properties.get("GroupId")), _SEPARATE[resource.type], properties, vpcs)
        elif resource.type == "AWS::EC2::SecurityGroup":
            for name, direction in _INLINE.items():
                # A parameter's value is not known.
                known = (row for row, _ in rows(properties.get(name, [])) if isinstance(row, Mapping))
                for row in known:
                    yield from _read(key, group, direction, row, vpcs)
            choices = [choice for choice, _ in alternatives(properties.get("SecurityGroupEgress"))]
            if group not in limited and not all(choices):
                yield Rule(key, group, "out", "-1", ALL_PORTS, EVERYBODY, EVERYBODY)


def _read(
    owner: str, group: str, direction: Direction, row: Mapping[str, Any], vpcs: Mapping[str, str]
) -> Iterator[Rule]:
    protocol = str(row.get("IpProtocol", "-1")).lower()
    ports = (_port(row.get("FromPort", ALL_PORTS[0])), _port(row.get("ToPort", ALL_PORTS[1])))
    for name in _PEERS:
        if name in row and row[name] != _NOBODY:
            peer = group_of(row[name])
            known = _PROTOCOLS.get(protocol, protocol)
            yield Rule(owner, group, direction, known, ports, vpcs.get(peer, peer), peer)


def group_of(reference: Any) -> str:
    """Return a group, or another peer of a rule, as text; `Ref` of a group is its id too."""
    return str(reference).replace(".GroupId}", "}")


def _port(value: Any) -> Port:
    text = str(value)
    return int(text) if text.removeprefix("-").isdigit() else text
