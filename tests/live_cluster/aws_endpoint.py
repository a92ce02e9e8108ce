"""EC2, DynamoDB and Route 53 on loopback: moto's server with the emulator's patches, and faults told by files.

    python -m tests.live_cluster.aws_endpoint PORT FAULTS_DIRECTORY

FAULTS_DIRECTORY/capacity: how many instances can run at once; none: any number. FAULTS_DIRECTORY/block: the state of
every Capacity Block, `scheduled`, `active` or `expired` (EC2 API reference, CapacityReservation).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response
from moto.ec2.responses.instances import InstanceResponse
from moto.server import main

from slipway_emulator.moto_patches import ec2

FAULTS = Path(sys.argv[2])


class NoCapacityError(ServiceException):
    """EC2's answer. There its HTTP status is 500, so that boto3 tries again before it says so; here it is 400."""

    code = "InsufficientInstanceCapacity"


def give_finite_capacity() -> None:
    """Start up to MaxCount instances or none, as EC2 does: moto starts MinCount and has no end of them."""
    run = InstanceResponse.run_instances

    def run_instances(self: InstanceResponse) -> Any:
        most, least = int(self._get_param("MaxCount")), int(self._get_param("MinCount"))
        running = sum(
            instance.state == "running"
            for reservation in self.ec2_backend.all_reservations()
            for instance in reservation.instances
        )
        file = FAULTS / "capacity"
        free = int(file.read_text()) - running if file.exists() else most
        if free < least:
            raise NoCapacityError(
                "We currently do not have sufficient capacity in the Availability Zone you requested."
            )
        self.params["MinCount"] = min(most, free)
        return run(self)

    InstanceResponse.run_instances = run_instances  # type: ignore[method-assign]


def describe_capacity_blocks(self: EC2Response) -> ActionResult:
    """Answer DescribeCapacityReservations, which moto does not have."""
    state = (FAULTS / "block").read_text().strip()
    return ActionResult(
        {
            "CapacityReservations": [
                {"CapacityReservationId": name, "State": state, "ReservationType": "capacity-block"}
                for name in self._get_param("CapacityReservationIds")
            ]
        }
    )


if __name__ == "__main__":
    for patch in ec2.DEVIATIONS:
        patch.bridge()
    give_finite_capacity()
    EC2Response.describe_capacity_reservations = describe_capacity_blocks  # type: ignore[attr-defined]
    main(["--host", "127.0.0.1", "--port", sys.argv[1]])
