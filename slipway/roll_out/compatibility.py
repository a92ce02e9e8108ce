"""Whether the deployed service can load a version, with the numbers."""

from collections.abc import Iterator

from slipway.roll_out.published import PublishedModel
from slipway.roll_out.service import ServiceDescription

_GIB = 2**30
_DEVICE_SHARE = 0.9
"""Part of the device memory for weights, keys and values, as the job kit counts it before it compiles."""


def problems(published: PublishedModel, service: ServiceDescription) -> Iterator[str]:
    """Yield every reason for which the service cannot serve a version."""
    if published.model != service.model:
        yield f"the service is for {service.model}, and this is {published.model}"
    made = published.compiled
    if made is None:
        yield "it is not compiled for an engine: publish it with publish.export"
        return
    if made.engine != service.engine:
        yield f"it is compiled for engine {made.engine}, and {service.engine} is deployed"
    if service.neuron_release and made.neuron_release != service.neuron_release:
        yield (
            f"it is compiled with Neuron SDK {made.neuron_release} ({made.exporter}), and the deployed engine has "
            f"{service.neuron_release}: it refuses models of another release"
        )
    if made.tensor_parallel_size > service.logical_neuron_cores:
        yield (
            f"it needs {made.tensor_parallel_size} NeuronCores, and {service.instance_type} has "
            f"{service.logical_neuron_cores}"
        )
    device = service.neuron_memory_gib * _GIB * made.tensor_parallel_size / service.logical_neuron_cores
    if made.device_bytes > device * _DEVICE_SHARE:
        yield (
            f"batch {made.batch_size} and {made.sequence_length} tokens need {made.device_bytes / _GIB:.1f} GiB of "
            f"device memory with the weights, and {made.tensor_parallel_size} NeuronCores of {service.instance_type} "
            f"have {device * _DEVICE_SHARE / _GIB:.1f} GiB for them"
        )
    if published.size > service.memory_gib * _GIB:
        yield (
            f"it has {published.size / _GIB:.1f} GiB, and {service.instance_type} loads it through "
            f"{service.memory_gib} GiB of host memory"
        )


def notices(published: PublishedModel, service: ServiceDescription) -> Iterator[str]:
    """Yield what a person should know before saying yes."""
    if service.neuron_release is None:
        yield "the Neuron release in the engine's image is not known: whether it loads this version cannot be checked"
    if service.desired_count == 0:
        yield "desired_count is 0: the version is chosen, and served as soon as desired_count is raised and deployed"
    if published.size > service.memory_gib * _GIB * 0.6:
        yield (
            f"its {published.size / _GIB:.1f} GiB are loaded through {service.memory_gib} GiB of host memory: if hosts "
            "run out of it, take a larger inference.instance_type"
        )
