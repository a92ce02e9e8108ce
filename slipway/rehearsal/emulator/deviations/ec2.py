"""EC2: block devices of instances."""

import copy
from typing import Any

from moto.ec2.models.instances import InstanceBackend
from moto.ec2.responses.instances import InstanceResponse

from slipway.rehearsal.emulator.deviations.deviation import Deviation

_IMAGE_SIZE_GIB = 45
"""What a root device gets that names no size; on AWS the image's own size counts (ParallelCluster's: 45 GiB)."""


def _with_sizes(mappings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Only the mappings that stand for a volume, each with a size."""
    return [
        {**mapping, "Ebs": {**mapping["Ebs"], "VolumeSize": mapping["Ebs"].get("VolumeSize") or _IMAGE_SIZE_GIB}}
        for mapping in mappings
        if "Ebs" in mapping
    ]


def _accept_every_mapping() -> None:
    parse = InstanceResponse._parse_block_device_mapping

    def parse_block_device_mapping(self: InstanceResponse) -> list[dict[str, Any]]:
        if mappings := self.params.get("BlockDeviceMappings"):
            self.params["BlockDeviceMappings"] = _with_sizes(mappings)
        return parse(self)

    InstanceResponse._parse_block_device_mapping = parse_block_device_mapping  # type: ignore[method-assign]


def _accept_every_mapping_of_templates() -> None:
    find = InstanceBackend._get_template_from_args

    def get_template_from_args(self: InstanceBackend, arguments: dict[str, Any]) -> Any:
        version = copy.copy(find(self, arguments))
        if mappings := version.data.get("BlockDeviceMappings"):
            version.data = {**version.data, "BlockDeviceMappings": _with_sizes(mappings)}
        return version

    setattr(InstanceBackend, find.__name__, get_template_from_args)


DEVIATIONS = (
    Deviation(
        "ec2-block-device-mappings",
        "moto refuses instance-store mappings and root devices without a size; EC2 takes the image's size",
        _accept_every_mapping,
    ),
    Deviation(
        "ec2-launch-template-block-devices",
        "moto fails on launch templates with such mappings when an instance starts from them",
        _accept_every_mapping_of_templates,
    ),
)
