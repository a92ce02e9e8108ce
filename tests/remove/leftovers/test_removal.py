"""Commands come in an order that works, and none is printed that something else makes needless."""

from collections.abc import Mapping
from typing import Any

from slipway.remove.leftovers.item import Item, make_item
from slipway.remove.leftovers.kind import kinds
from slipway.remove.leftovers.removal import commands

REGION = "us-west-2"
NOTHING_HOLDS_IT: Any = lambda _item, _first: ()  # noqa: E731


def item(name: str, **facts: Any) -> Item:
    (kind,) = [kind for kind in kinds() if kind.kind == name]
    assert kind.left
    return make_item(kind, kind.left, facts, None, "123456789012")


def removed(*items: Item) -> list[str]:
    return [line.removesuffix(f" --region {REGION}") for line in commands(items, REGION, NOTHING_HOLDS_IT)]


def test_what_goes_with_an_instance_needs_no_command() -> None:
    instance = item("EC2 instance", id="i-1")
    volume = item("EBS volume", id="vol-1", instance="i-1", goes_with="i-1")
    interface = item("network interface", id="eni-1", instance="i-1", attachment="a-1", goes_with="i-1")

    assert removed(volume, interface, instance) == [
        "aws ec2 terminate-instances --instance-ids i-1",
        "aws ec2 wait instance-terminated --instance-ids i-1",
    ]


def test_what_stays_behind_an_instance_is_not_attached_any_more() -> None:
    volume = item("EBS volume", id="vol-1", instance="i-1")

    assert removed(item("EC2 instance", id="i-1"), volume)[2:] == ["aws ec2 delete-volume --volume-id vol-1"]
    assert removed(volume) == [
        "aws ec2 detach-volume --volume-id vol-1 --instance-id i-1",
        "aws ec2 delete-volume --volume-id vol-1",
    ]


def test_rules_between_groups_go_before_any_group() -> None:
    rules = {"sg-1": [{"rule": "sgr-1"}], "sg-2": [{"rule": "sgr-2"}]}

    def ask(group: Item, first: Any) -> list[Mapping[str, Any]]:
        return list(rules[group.id]) if "ingress" in first.command else []

    groups = [item("security group", id=id_) for id_ in rules]

    assert [line.split()[2] for line in commands(groups, REGION, ask)] == [
        "revoke-security-group-ingress",
        "revoke-security-group-ingress",
        "delete-security-group",
        "delete-security-group",
    ]


def test_what_two_hold_makes_way_once() -> None:
    role, policy = item("IAM role", id="r"), item("IAM managed policy", id="arn:aws:iam::123456789012:policy/p")

    def ask(held: Item, first: Any) -> list[Mapping[str, Any]]:
        facts = {"list_attached_role_policies": {"policy": policy.id}, "list_entities_for_policy": {"role": role.id}}
        return [facts[first.operation]] if first.operation in facts and held.id else []

    lines = commands([policy, role], REGION, ask)

    assert [line.split()[2] for line in lines] == ["detach-role-policy", "delete-role", "delete-policy"]
