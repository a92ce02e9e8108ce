"""Launch templates whose instances start in a capacity reservation."""

from typing import Any

from aws_cdk import aws_ec2 as ec2


def reserve(template: ec2.LaunchTemplate, reservation_id: str | None, *, capacity_block: bool) -> None:
    """Have all instances of a launch template start in a reservation, and nowhere else.

    Escape hatch: the L2 launch template has no reservations.

    Args:
        template: the launch template.
        reservation_id: id of an On-Demand Capacity Reservation or of a Capacity Block; none where there is none.
        capacity_block: whether it is a Capacity Block, which EC2 sells as a market of its own.
    """
    data: dict[str, Any] = {}
    if reservation_id is not None:
        target = {"CapacityReservationTarget": {"CapacityReservationId": reservation_id}}
        data["CapacityReservationSpecification"] = target
    if capacity_block:
        data["InstanceMarketOptions"] = {"MarketType": "capacity-block"}
    resource = template.node.default_child
    assert isinstance(resource, ec2.CfnLaunchTemplate)
    for name, value in data.items():
        resource.add_property_override(f"LaunchTemplateData.{name}", value)
