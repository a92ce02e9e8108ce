"""What the rehearsed account already holds."""

from pathlib import Path

import yaml
from pydantic import TypeAdapter

from slipway.rehearsal.emulator.deviations.reservations import RESERVATIONS, CapacityReservation
from slipway.rehearsal.emulator.ledger import Ledger

_FILE = Path(__file__).with_name("account.yaml")
_RESERVATIONS = TypeAdapter(tuple[CapacityReservation, ...])


def seed_account(ledger: Ledger) -> None:
    """Give the account its capacity reservations."""
    content = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    for reservation in _RESERVATIONS.validate_python(content["capacity_reservations"]):
        RESERVATIONS[reservation.id] = reservation
        ledger.seed(
            f"capacity reservation {reservation.id}: {reservation.instances} {reservation.instance_type}"
            f" in {reservation.availability_zone_id}",
            "an environment file names it; an account that deploys that file holds it",
        )
