"""Interfaces of EFA nodes, beside those that the real aws-parallelcluster makes for the same instance types."""

import gzip
import json
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import pytest

from neuron_constructs.kubernetes.node_interfaces import network_interfaces
from slipway import facts
from tests.assembly import PROJECT

PYTHON = PROJECT / ".tools" / "parallelcluster" / "bin" / "python"
EFA_TYPES = [name for name, instance in facts.instance_types().items() if instance.efa_interfaces]

Layout = list[tuple[int, int, str | None]]
"""Of each interface its card, its device index on it, and its kind."""

_PROGRAM = """
import json, sys
from types import SimpleNamespace
from pcluster.aws.aws_resources import InstanceTypeInfo
from pcluster.templates.queues_stack import add_network_interfaces

def layout(answer, kind):
    instance = InstanceTypeInfo(answer)
    compute_resource = SimpleNamespace(
        instance_types=[answer["InstanceType"]],
        efa=SimpleNamespace(enabled=True),
        network_cards_list=instance.network_cards_list(),
        max_network_cards=instance.max_network_cards(),
        max_efa_interfaces=answer["NetworkInfo"]["EfaInfo"]["MaximumEfaInterfaces"],
    )
    queue = SimpleNamespace(networking=SimpleNamespace(assign_public_ip=None))
    interfaces = add_network_interfaces(queue, compute_resource, ["sg-1"], efa_interface_type=kind)
    return [(each.network_card_index, each.device_index, each.interface_type) for each in interfaces]

answers = json.load(sys.stdin)
print(json.dumps({name: [layout(answer, None), layout(answer, "efa")] for name, answer in answers.items()}))
"""


@cache
def described() -> Mapping[str, Any]:
    """What EC2 says of the types with EFA, as moto ships it."""
    answers = json.loads(gzip.decompress(files("moto").joinpath("ec2/resources/instance_types.json.gz").read_bytes()))
    return {name: answers[name] for name in EFA_TYPES}


@cache
def parallelcluster() -> Mapping[str, tuple[Layout, Layout]]:
    """The layouts of ParallelCluster for each type: what it does by itself, and with `EfaInterfaceType: efa`."""
    run = subprocess.run(
        [str(PYTHON), "-c", _PROGRAM], input=json.dumps(described()), capture_output=True, text=True, check=True
    )
    return {
        name: ([(*each,) for each in own], [(*each,) for each in asked])
        for name, (own, asked) in json.loads(run.stdout).items()
    }


def ours(name: str) -> Layout:
    """Our layout."""
    interfaces = network_interfaces(facts.instance_type(name), efa=True, security_group_ids=["sg-1"])
    return [(each["NetworkCardIndex"], each["DeviceIndex"], each.get("InterfaceType")) for each in interfaces]


@pytest.mark.parametrize("name", EFA_TYPES)
def test_each_card_with_efa_has_one_interface(name: str) -> None:
    layout = ours(name)

    assert [card for card, _, _ in layout] == list(range(facts.instance_type(name).efa_interfaces))
    assert layout[0] == (0, 0, "efa")
    assert all(each[1:] == (1, "efa-only") for each in layout[1:])


@pytest.mark.parametrize("name", EFA_TYPES)
def test_ec2_has_room_for_them(name: str) -> None:
    cards = {card["NetworkCardIndex"]: card for card in described()[name]["NetworkInfo"]["NetworkCards"]}
    for card, device, kind in ours(name):
        assert kind in cards[card]["InterfaceTypes"]
        assert device < cards[card]["MaximumNetworkInterfaces"]
    # VPC CNI adds interfaces for pods on the first card.
    assert cards[0]["MaximumNetworkInterfaces"] >= 2


@pytest.mark.parametrize("name", EFA_TYPES)
def test_parallelcluster_has_as_many_and_the_same_on_all_cards_but_the_first(name: str) -> None:
    own, with_addresses = parallelcluster()[name]

    assert ours(name)[1:] == [each for each in own if each[0] > 0]
    assert ours(name)[0] == with_addresses[0]
    assert [each for each in own if each[0] == 0] == [(0, 0, None), (0, 1, "efa-only")]
    assert len([each for each in own if each[2] == "efa-only"]) == len(ours(name))
