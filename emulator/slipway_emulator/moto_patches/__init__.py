"""Where moto 5.2.5 departs from AWS in a way that a deployment notices: each gap is bridged here, by name.

The bridges replace members of moto's classes, which is why moto is pinned exactly. Each goes into the ledger.
"""

from slipway_emulator.ledger import Ledger
from slipway_emulator.moto_patches import (
    codebuild,
    dependencies,
    ec2,
    ecs,
    eks,
    elbv2,
    fsx,
    reservations,
    s3,
    services,
)
from slipway_emulator.moto_patches.patch import MotoPatch

DEVIATIONS: tuple[MotoPatch, ...] = (
    *codebuild.DEVIATIONS,
    *dependencies.DEVIATIONS,
    *ec2.DEVIATIONS,
    *ecs.DEVIATIONS,
    *eks.DEVIATIONS,
    *elbv2.DEVIATIONS,
    *fsx.DEVIATIONS,
    *reservations.DEVIATIONS,
    *s3.DEVIATIONS,
    *services.DEVIATIONS,
)


def bridge_all(ledger: Ledger) -> None:
    """Apply every bridge and write it down; to be called once, before moto's server answers."""
    for deviation in DEVIATIONS:
        deviation.bridge()
        ledger.deviation(deviation.name, deviation.why)
