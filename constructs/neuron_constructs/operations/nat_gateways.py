"""NAT gateways: the nodes' way to packages and AWS APIs."""

from collections.abc import Sequence

from neuron_constructs.operations.metrics import Source
from neuron_constructs.operations.watch import Alarm, Graph, WatchedPart


def watch_nat_gateways(gateway_ids: Sequence[str]) -> WatchedPart:
    """Return what is watched of NAT gateways.

    Args:
        gateway_ids: their ids.
    """
    sources = [Source("AWS/NATGateway", {"NatGatewayId": id_}) for id_ in gateway_ids]
    return WatchedPart(
        title="Network",
        alarms=[
            Alarm(
                name=f"NatGateway{number}Exhausted",
                metric=source.metric("ErrorPortAllocation", "Sum"),
                fires="above",
                threshold=0,
                periods=1,
                means="Nodes open more connections to one address than a NAT gateway has ports. Raise "
                "network.nat_gateways.",
            )
            for number, source in enumerate(sources, start=1)
        ],
        graphs=[
            Graph(title="NAT: bytes out", metrics=[source.metric("BytesOutToDestination", "Sum") for source in sources])
        ],
    )
