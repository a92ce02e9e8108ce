"""What the launch templates of node groups and of models' hosts say of the instances."""

from collections.abc import Mapping

from slipway.assembly.instances.group import reservation_of
from slipway.assembly.sections import Section
from slipway.assembly.templates import Templates

_GP3_IOPS = 3000
_GP3_THROUGHPUT_MIB_S = 125
"""What comes with every gp3 volume (EBS user guide, "General Purpose SSD volumes")."""

NOTHING_SAID = Section((), {})
"""Of a launch template that the templates do not have."""


def launch_templates(templates: Templates) -> Mapping[str, Section]:
    """Return the data of each launch template by the reference to it."""
    return {
        templates.reference(stack, logical_id): properties.section("LaunchTemplateData")
        for stack, logical_id, properties in templates.sections("AWS::EC2::LaunchTemplate")
    }


def launched_reservation(launched: Section) -> str | None:
    """Return the reservation, or the group of reservations, that instances start in."""
    return reservation_of(launched.section("CapacityReservationSpecification", "CapacityReservationTarget"))


def volume_gib(launched: Section) -> int:
    """Return the size of an instance's volumes together."""
    return _volumes(launched, "VolumeSize", 0)


def extra_iops(launched: Section) -> int:
    """Return the operations a second of an instance's volumes, beyond those that come with a gp3 volume."""
    return _volumes(launched, "Iops", _GP3_IOPS)


def extra_throughput_mib_s(launched: Section) -> int:
    """Return the throughput of an instance's volumes in MiB/s, beyond what comes with a gp3 volume."""
    return _volumes(launched, "Throughput", _GP3_THROUGHPUT_MIB_S)


def _volumes(launched: Section, setting: str, included: int) -> int:
    """Return what the volumes of a launch template have of something together, beyond what each comes with."""
    volumes = [device.section("Ebs") for device in launched.items("BlockDeviceMappings")]
    return sum(volume.number(setting, default=included) - included for volume in volumes)
