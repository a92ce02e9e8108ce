"""What the rehearsed account already holds."""

from moto.acm.models import CertBundle, acm_backends

from slipway.capacity_reservations import capacity_reservations
from slipway.rehearsal.emulator.deviations.reservations import RESERVATIONS
from slipway.rehearsal.emulator.ledger import Ledger
from slipway.rehearsal.emulator.settings import ACCOUNT, Settings

_HELD = "an environment file names it; an account that deploys that file holds it"
_DOMAIN = "rehearsal.invalid"
"""A name that nobody can have: which names a certificate covers is in no environment file."""


def seed_account(settings: Settings, ledger: Ledger) -> None:
    """Give the account its capacity reservations and its certificates."""
    for reservation in capacity_reservations():
        RESERVATIONS[reservation.id] = reservation
        ledger.seed(
            f"capacity reservation {reservation.id}: {reservation.instances} {reservation.instance_type}"
            f" in {reservation.availability_zone_id}",
            _HELD,
        )
    for arn in settings.certificate_arns:
        _hold_certificate(arn)
        ledger.seed(f"certificate {arn}", f"{_HELD}; its key pair and its name {_DOMAIN} are made up")


def _hold_certificate(arn: str) -> None:
    """Put an issued certificate into moto's store: the API gives every certificate an ARN of its own making."""
    region = arn.split(":")[3]
    certificate = CertBundle.generate_cert(_DOMAIN, ACCOUNT, region)
    certificate.arn, certificate.status = arn, "ISSUED"
    acm_backends[ACCOUNT][region]._certificates[arn] = certificate
