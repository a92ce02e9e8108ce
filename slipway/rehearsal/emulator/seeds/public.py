"""Images and public parameters, put straight into moto's stores: no API may write them."""

from pathlib import Path

import yaml
from moto.core.utils import utcnow
from moto.ec2.models import amis
from moto.ssm.models import Parameter, ssm_backends
from pydantic import BaseModel, ConfigDict

from slipway.rehearsal.emulator.ledger import Ledger
from slipway.rehearsal.emulator.settings import ACCOUNT

_FILE = Path(__file__).with_name("public.yaml")
_AMAZON = "137112412989"
"""The account that publishes Amazon's images."""


class _Seed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Image(_Seed):
    """A machine image; ``root`` is the name of its root device."""

    id: str
    name: str
    root: str


class PublicParameter(_Seed):
    """A parameter under ``/aws/service/``."""

    name: str
    value: str


class PublicSeeds(_Seed):
    """The content of public.yaml."""

    images: tuple[Image, ...]
    parameters: tuple[PublicParameter, ...]


def _seeds() -> PublicSeeds:
    return PublicSeeds.model_validate(yaml.safe_load(_FILE.read_text(encoding="utf-8")))


def seed_images(ledger: Ledger) -> None:
    """Add the images to those that moto gives every region; to be called before a region is first used."""
    for image in _seeds().images:
        amis.AMIS.append(
            {
                "ami_id": image.id,
                "name": image.name,
                "description": image.name,
                "image_location": f"amazon/{image.name}",
                "owner_id": _AMAZON,
                "public": True,
                "architecture": "x86_64",
                "virtualization_type": "hvm",
                "hypervisor": "xen",
                "root_device_type": "ebs",
                "root_device_name": image.root,
            }
        )
        ledger.seed(f"image {image.name}", f"published by AWS in every region; the id {image.id} is made up")


def seed_public_parameters(region: str, ledger: Ledger) -> None:
    """Add the public parameters that moto does not know in this region."""
    store = ssm_backends[ACCOUNT][region]
    for seed in _seeds().parameters:
        if store.get_parameters([seed.name]):
            continue
        store._parameters[seed.name].append(
            Parameter(  # type: ignore[abstract]  # moto makes it so itself
                account_id=ACCOUNT,
                name=seed.name,
                value=seed.value,
                parameter_type="String",
                description="",
                allowed_pattern=None,
                keyid=None,
                last_modified_date=utcnow(),
                version=1,
                data_type="text",
            )
        )
        ledger.seed(f"public parameter {seed.name}", f"moto has none for {region}; the value is made up")
