"""Rewrites of rules that let through the same or less, and small ones that let through more."""

from typing import Any

import pytest

from tests.review.changes.broader import broader

VPC = {"Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}}
INSIDE = [{"IpProtocol": "-1", "CidrIp": "10.0.0.0/8"}]
NOTHING = {"Ref": "AWS::NoValue"}


def _rule(
    peer: Any = "10.0.0.0/8", protocol: Any = "tcp", first: Any = 80, last: Any = 80, **settings: Any
) -> dict[str, Any]:
    peers = {} if peer is None else {"CidrIpv6" if ":" in peer else "CidrIp": peer}
    return {"IpProtocol": protocol, "FromPort": first, "ToPort": last, **peers, **settings}


def _group(*rules: Any, egress: Any = INSIDE) -> dict[str, Any]:
    properties = {"SecurityGroupIngress": list(rules), "SecurityGroupEgress": egress}
    return {"Group": {"Type": "AWS::EC2::SecurityGroup", "Properties": properties}}


def _separate(reference: Any, **group: Any) -> dict[str, Any]:
    rule = _rule(None, GroupId=reference, SourceSecurityGroupId=reference)
    return {**_group(**group), "Rule": {"Type": "AWS::EC2::SecurityGroupIngress", "Properties": rule}}


BROADER: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "IPv6 beside IPv4": (_group(_rule("0.0.0.0/0")), _group(_rule("0.0.0.0/0"), _rule("::/0")), "tcp 80 from ::/0"),
    "a group beside IPv6": (
        _group(_rule("::/0")),
        _group(_rule("::/0"), _rule(None, SourceSecurityGroupId="sg-1")),
        "tcp 80 from sg-1",
    ),
    "udp by its number": (_group(_rule()), _group(_rule(protocol=17)), "udp 80 from 10.0.0.0/8"),
    "all of ICMP": (
        _group(_rule(protocol="icmp", first=8, last=0)),
        _group(_rule(protocol="icmp", first=-1, last=-1)),
        "All icmp",
    ),
    "perhaps a rule": (
        _group(),
        _group({"Fn::If": ["Open", _rule("0.0.0.0/0"), NOTHING]}),
        "tcp 80 from 0.0.0.0/0",
    ),
    "one list or the other": (
        _group(_rule()),
        {"Group": {"Type": "AWS::EC2::SecurityGroup", "Properties": {
            "SecurityGroupIngress": {"Fn::If": ["Open", [_rule("0.0.0.0/0")], [_rule()]]},
            "SecurityGroupEgress": INSIDE,
        }}},
        "tcp 80 from 0.0.0.0/0",
    ),
    "perhaps no rule for what goes out": (
        _group(_rule()),
        _group(_rule(), egress={"Fn::If": ["Closed", INSIDE, NOTHING]}),
        "Everything from Group to 0.0.0.0/0",
    ),
}  # fmt: skip

SAME_OR_LESS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tcp by its number": (_group(_rule()), _group(_rule(protocol=6))),
    "one code of ICMP": (
        _group(_rule(protocol="icmp", first=8, last=-1)),
        _group(_rule(protocol="1", first=8, last=0)),
    ),
    "ports as text": (_group(_rule(first="80", last="80")), _group(_rule())),
    "the network in the place of more": ({**VPC, **_group(_rule())}, {**VPC, **_group(_rule("10.0.0.0/16"))}),
    "a part of the network": ({**VPC, **_group(_rule("10.0.0.0/16"))}, {**VPC, **_group(_rule("10.0.1.0/24"))}),
    "a group by Ref and by its id": (
        _separate({"Ref": "Group"}),
        _separate({"Fn::GetAtt": ["Group", "GroupId"]}),
    ),
}


@pytest.mark.parametrize("name", BROADER)
def test_more_is_told(name: str) -> None:
    before, after, beginning = BROADER[name]
    [what] = broader(before, after)
    assert what.startswith(beginning)


@pytest.mark.parametrize("name", SAME_OR_LESS)
def test_the_same_or_less_is_not_told(name: str) -> None:
    assert broader(*SAME_OR_LESS[name]) == []


def test_a_network_whose_range_only_aws_knows() -> None:
    pool = {"Fn::Select": [0, {"Fn::Cidr": ["10.0.0.0/8", 4, 16]}]}
    network = {"Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": pool}}}

    assert broader({**network, **_group(_rule())}, {**network, **_group(_rule())}) == []


def test_a_group_is_limited_by_a_rule_that_refers_to_it_in_either_way() -> None:
    rule = {"Type": "AWS::EC2::SecurityGroupEgress", "Properties": _rule(GroupId={"Ref": "Group"})}
    group = {"Group": {"Type": "AWS::EC2::SecurityGroup"}}

    assert broader({**group, "Rule": rule}, group) == ["Everything from Group to 0.0.0.0/0"]
