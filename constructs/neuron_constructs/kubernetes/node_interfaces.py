"""Network interfaces of a node, as its launch template names them."""

from collections.abc import Sequence
from typing import Any

from slipway import facts


def network_interfaces(instance: facts.InstanceType, *, efa: bool, security_group_ids: Sequence[str]) -> list[Any]:
    """Return the interfaces of a node as `NetworkInterfaces` of AWS::EC2::LaunchTemplate.

    Without EFA there is one plain interface; VPC CNI adds what pods need. With EFA each network card that has it gets
    one. That of card 0 also carries the node's IP traffic (`efa`): the first interface cannot be without an IP address,
    and a plain one beside an `efa-only` one would take both places that a card of trn2.48xlarge has, of which VPC CNI
    needs the second. Those of all other cards have no IP address (`efa-only`, VPC CNI 1.18.5 or later leaves them
    alone), as 16 of each node would soon use up a subnet. Device indexes are counted on each card: 0 is the node's
    first interface, so it is 0 on card 0 and 1 on each other one. AWS ParallelCluster and terraform-aws-eks do so for
    every Trainium type; the Neuron documentation has other indexes for two cards of trn1n alone and gives no reason.

    Args:
        instance: the instance type.
        efa: whether the nodes get EFA.
        security_group_ids: the cluster's security group and others; may be tokens. EKS adds its own by itself only to
            templates that name no interfaces and no security group.

    Raises:
        ValueError: EFA is asked for and the instance type has none.
    """
    if not efa:
        return [_interface(0, None, security_group_ids)]
    if not instance.efa_interfaces:
        raise ValueError(f"{instance.name} has no EFA")
    return [
        _interface(card, "efa-only" if card else "efa", security_group_ids) for card in range(instance.efa_interfaces)
    ]


def _interface(card: int, kind: str | None, security_group_ids: Sequence[str]) -> dict[str, Any]:
    """Return an interface. It names no subnet: a managed node group refuses a template that does."""
    interface: dict[str, Any] = {
        "NetworkCardIndex": card,
        "DeviceIndex": 1 if card else 0,
        "Groups": list(security_group_ids),
        "DeleteOnTermination": True,
    }
    if kind is not None:
        interface["InterfaceType"] = kind
    return interface
