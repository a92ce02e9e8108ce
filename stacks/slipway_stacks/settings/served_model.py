"""A model of the inference section in the words of its constructs."""

from collections.abc import Mapping
from typing import Any

from neuron_constructs.inference.model import LocalCopy, ModelSource, MountedBucket, MountedLustre
from neuron_constructs.lustre import LustreMount
from slipway import facts
from slipway.config import inference as spec
from slipway.config.scaling import Scaling

MODELS_ON_LUSTRE = "/models"
"""Where the model bucket is linked on the training file system, if an endpoint reads it there."""


def model_source(source: spec.Mountpoint | spec.Sync | spec.LustreSource, lustre: LustreMount) -> ModelSource:
    """Return how hosts get the model's files.

    Args:
        source: the model's `source` in the environment file.
        lustre: the training file system, on which the model bucket appears as a folder.
    """
    match source:
        case spec.Mountpoint():
            return MountedBucket()
        case spec.Sync(volume_gib=volume_gib, throughput_mib_s=throughput_mib_s):
            return LocalCopy(volume_gib=volume_gib, throughput_mib_s=throughput_mib_s)
        case spec.LustreSource():
            return MountedLustre.of(lustre, MODELS_ON_LUSTRE)


def host_zones(wanted: spec.ServedModel, region: str) -> frozenset[str]:
    """Return the ids of the zones where a model's hosts can be: all that offer them, or that of their reservation."""
    if wanted.capacity_reservation is not None:
        return frozenset({wanted.capacity_reservation.availability_zone_id})
    return facts.offered_zone_ids(wanted.instance_type, region)


def scales(scaling: Scaling) -> bool:
    """Return whether Application Auto Scaling changes the number of tasks."""
    return bool(scaling.schedules) or scaling.max_count not in {None, scaling.min_count}


def rolled_out_service(wanted: spec.ServedModel, engine: facts.InferenceEngine, service_name: str) -> Mapping[str, Any]:
    """Return what `slipway roll-out` reads from the template about a model's service, to check a version against it."""
    host = facts.instance_type(wanted.instance_type)
    return {
        "engine": wanted.engine,
        "neuron_release": engine.release_in(wanted.image),
        "neuron_runtime": engine.runtime_in(wanted.image),
        "neuron_driver": wanted.host_image.neuron_driver
        if wanted.host_image
        else facts.machine_image(engine.machine_image).neuron_driver,
        "instance_type": wanted.instance_type,
        "logical_neuron_cores": host.logical_neuron_cores,
        "neuron_memory_gib": host.neuron_memory_gib,
        "memory_gib": host.memory_gib,
        "volume_gib": wanted.source.volume_gib if isinstance(wanted.source, spec.Sync) else None,
        "service_name": service_name,
        "architectures": list(engine.architectures),
        "desired_count": wanted.scaling.min_count,
        "compiled": wanted.compiled.model_dump() if wanted.compiled else None,
        "limits": wanted.limits.model_dump(exclude_none=True),
    }
