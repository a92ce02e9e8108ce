"""The machine images that ParallelCluster looks for in an account, put into moto's catalogue."""

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.handlers import BUILTIN_HANDLERS
from moto.ec2.models import amis
from pcluster.constants import (  # type: ignore[import-not-found]
    OS_TO_IMAGE_NAME_PART_MAP,
    PCLUSTER_IMAGE_BUILD_STATUS_TAG,
    PCLUSTER_IMAGE_OS_TAG,
    PCLUSTER_VERSION_TAG,
)

from slipway.review.judge.inside_parallelcluster.answer import MotoPatch


def bridge(
    parallelcluster_version: str, image_builder_names: Sequence[str], baked: Sequence[Mapping[str, Any]]
) -> list[MotoPatch]:
    """Add all images; call once, before moto starts.

    Args:
        parallelcluster_version: version in the names of the official images.
        image_builder_names: names of Amazon's images, as in `arn:aws:imagebuilder:<Region>:aws:image/<name>/x.x.x`.
        baked: the images that the account holds, as slipway/review/judge/node_images.py has them.

    Returns:
        What was bridged and why, for the report.
    """
    return [
        _official_images(parallelcluster_version),
        _image_builder_images(image_builder_names),
        _baked_images(baked),
    ]


def _official_images(version: str) -> MotoPatch:
    for system_number, name_part in enumerate(OS_TO_IMAGE_NAME_PART_MAP.values()):
        for architecture_number, architecture in enumerate(("x86_64", "arm64")):
            _add(
                f"ami-{system_number:08x}{architecture_number:09x}",
                f"aws-parallelcluster-{version}-{name_part}-{architecture}-202609081200",
                architecture=architecture,
                # ParallelCluster asks for images of this owner; moto compares it with the id, EC2 with the alias.
                owner_id="amazon",
                public=True,
            )
    return MotoPatch("official images", "moto's image catalogue has none of ParallelCluster's; one is added per OS")


def _image_builder_images(names: Sequence[str]) -> MotoPatch:
    ids = {name: f"ami-{number:08x}{'b' * 9}" for number, name in enumerate(names)}
    for name, image_id in ids.items():
        _add(image_id, name, owner_id="amazon", public=True)

    def get_image(params: Mapping[str, Any], **_: Any) -> tuple[AWSResponse, dict[str, Any]]:
        name = params["query_string"]["imageBuildVersionArn"].split("/")[1]
        if name not in ids:
            error = {"Code": "ResourceNotFoundException", "Message": f"There is no image {name}."}
            return AWSResponse("", 404, HTTPHeaders(), None), {"Error": error, "ResponseMetadata": {}}
        found = {"outputResources": {"amis": [{"image": ids[name]}]}}
        return AWSResponse("", 200, HTTPHeaders(), None), {"image": found, "ResponseMetadata": {}}

    # The place where moto itself steps into every client: a session copies the handlers when it is made.
    BUILTIN_HANDLERS.append(("before-call.imagebuilder.GetImage", get_image))
    return MotoPatch("EC2 Image Builder", "moto does not have it; GetImage answers for the images that the facts name")


def _baked_images(images: Sequence[Mapping[str, Any]]) -> MotoPatch:
    """Tag the images as `pcluster build-image` and its function that cleans up do."""
    for image in images:
        tags = {
            PCLUSTER_VERSION_TAG: image["parallelcluster_version"],
            PCLUSTER_IMAGE_OS_TAG: image["operating_system"],
            PCLUSTER_IMAGE_BUILD_STATUS_TAG: "available",
        }
        _add(image["id"], f"baked with {image['parallelcluster_version']}", tags=tags)
    return MotoPatch(
        "baked images", "moto's image catalogue has none; those that an environment names are added, as if they fit"
    )


def _add(image_id: str, name: str, **more: Any) -> None:
    amis.AMIS.append(
        {
            "ami_id": image_id,
            "name": name,
            "description": "an image of the judged account",
            "architecture": "x86_64",
            "virtualization_type": "hvm",
            "hypervisor": "xen",
            "image_type": "machine",
            "state": "available",
            "root_device_type": "ebs",
            "root_device_name": "/dev/sda1",
            **more,
        }
    )
