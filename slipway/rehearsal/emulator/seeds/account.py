"""What the rehearsed account already holds."""

from slipway.capacity_reservations import capacity_reservations
from slipway.rehearsal.emulator.deviations.reservations import RESERVATIONS
from slipway.rehearsal.emulator.ledger import Ledger


def seed_account(ledger: Ledger) -> None:
    """Give the account its capacity reservations."""
    for reservation in capacity_reservations():
        RESERVATIONS[reservation.id] = reservation
        ledger.seed(
            f"capacity reservation {reservation.id}: {reservation.instances} {reservation.instance_type}"
            f" in {reservation.availability_zone_id}",
            "an environment file names it; an account that deploys that file holds it",
        )
