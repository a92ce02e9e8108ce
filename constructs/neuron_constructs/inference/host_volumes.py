"""Volumes of inference hosts."""

from aws_cdk import aws_ec2 as ec2

from neuron_constructs.inference.model import LocalCopy, Model

ROOT_VOLUME_GIB = 100
"""Size of a host's root volume: the engine's image is tens of GiB unpacked."""

_GP3_IOPS = 3000
"""What a gp3 volume has at no charge. A MiB/s of throughput needs 4 of them, as requests have 256 KiB."""


def host_volumes(model: Model) -> list[ec2.BlockDevice]:
    """Return the root volume, and the one for a host's own copy of the model."""
    volumes = [_volume("/dev/xvda", ROOT_VOLUME_GIB)]
    if isinstance(model.source, LocalCopy):
        throughput = model.source.throughput_mib_s
        iops = max(_GP3_IOPS, 4 * throughput)
        volumes.append(_volume("/dev/xvdb", model.source.volume_gib, throughput=throughput, iops=iops))
    return volumes


def _volume(device: str, size_gib: int, *, throughput: int | None = None, iops: int | None = None) -> ec2.BlockDevice:
    return ec2.BlockDevice(
        device_name=device,
        volume=ec2.BlockDeviceVolume.ebs(
            size_gib,
            volume_type=ec2.EbsDeviceVolumeType.GP3,
            throughput=throughput,
            iops=iops,
            encrypted=True,
            delete_on_termination=True,
        ),
    )
