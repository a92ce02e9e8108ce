"""EC2: capacity reservations, which moto does not have."""

from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response

from slipway_emulator.capacity_reservations import CapacityReservation
from slipway_emulator.moto_patches.patch import MotoPatch
from slipway_emulator.settings import ACCOUNT, PARTITION

RESERVATIONS: dict[str, CapacityReservation] = {}
"""What the account holds, by id; the seeds fill it."""


class _ReservationNotFoundError(ServiceException):
    code = "InvalidCapacityReservationId.NotFound"


def _described(reservation: CapacityReservation, region: str, zone_name: str) -> dict[str, Any]:
    arn = f"arn:{PARTITION}:ec2:{region}:{ACCOUNT}"
    return {
        "CapacityReservationId": reservation.id,
        "CapacityReservationArn": f"{arn}:capacity-reservation/{reservation.id}",
        "OwnerId": ACCOUNT,
        "ReservationType": reservation.type,
        "InstanceType": reservation.instance_type,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": zone_name,
        "AvailabilityZoneId": reservation.availability_zone_id,
        "TotalInstanceCount": reservation.instances,
        "AvailableInstanceCount": reservation.instances,
        "InstanceMatchCriteria": "targeted",
        "State": "active",
        "Tags": [],
        **({"PlacementGroupArn": f"{arn}:placement-group/{group}"} if (group := reservation.placement_group) else {}),
    }


def _answer_describe() -> None:
    def describe_capacity_reservations(self: EC2Response) -> ActionResult:
        zones = self.ec2_backend.describe_availability_zones()
        names = {zone.zone_id: zone.name for zone in zones}
        here = {
            reservation.id: _described(reservation, self.region, names[reservation.availability_zone_id])
            for reservation in RESERVATIONS.values()
            if reservation.availability_zone_id in names
        }
        wanted = self._get_param("CapacityReservationIds") or list(here)
        if unknown := [name for name in wanted if name not in here]:
            raise _ReservationNotFoundError(f"The capacity reservation IDs {', '.join(unknown)} are not valid.")
        return ActionResult({"CapacityReservations": [here[name] for name in wanted]})

    EC2Response.describe_capacity_reservations = describe_capacity_reservations  # type: ignore[attr-defined]


DEVIATIONS = (
    MotoPatch(
        "ec2-capacity-reservations",
        "moto has no capacity reservations; DescribeCapacityReservations answers those that were seeded",
        _answer_describe,
    ),
)
