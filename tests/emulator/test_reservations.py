import pytest
from botocore.exceptions import ClientError

from slipway_emulator.capacity_reservations import capacity_reservations
from tests.emulator.running import RunningEmulator


def test_the_account_holds_every_row(emulator: RunningEmulator) -> None:
    answer = emulator.client("ec2").describe_capacity_reservations()["CapacityReservations"]
    described = {(one["CapacityReservationId"], one["ReservationType"], one["TotalInstanceCount"]) for one in answer}
    assert described == {(row.id, row.type, row.instances) for row in capacity_reservations()}


def test_another_reservation_is_refused(emulator: RunningEmulator) -> None:
    with pytest.raises(ClientError, match="NotFound"):
        emulator.client("ec2").describe_capacity_reservations(CapacityReservationIds=["cr-00000000000000000"])
