"""Whether the deployed service can load a version, with the numbers."""

from collections.abc import Iterator, Sequence

from slipway import facts
from slipway.operate.roll_out.published import Compiled, PublishedModel
from slipway.operate.roll_out.service import ServiceDescription

_GIB = 2**30
_DEVICE_SHARE = 0.9
"""Part of the device memory for weights, keys and values, as the job kit counts it before it compiles."""


def problems(published: PublishedModel, architectures: Sequence[str], service: ServiceDescription) -> Iterator[str]:
    """Yield every reason for which a service cannot serve a version.

    Args:
        published: the version.
        architectures: what its `config.json` names; empty where it names none.
        service: the service.
    """
    made = published.compiled
    if made is None:
        yield "it is not compiled for an engine: publish it with publish.export"
        return
    yield from _engine_problems(made, service)
    if architectures and service.architectures and not set(architectures) & set(service.architectures):
        yield (
            f"its architecture is {', '.join(architectures)}, and {service.engine} serves "
            f"{', '.join(service.architectures)}"
        )
    yield from _shape_problems(made, service)
    yield from _file_problems(published, service)
    yield from _memory_problems(published, made, service)


def _engine_problems(made: Compiled, service: ServiceDescription) -> Iterator[str]:
    if made.engine != service.engine:
        yield f"it is compiled for engine {made.engine}, and {service.engine} is deployed"
    if service.neuron_release and made.neuron_release != service.neuron_release:
        yield (
            f"it is compiled with Neuron SDK {made.neuron_release} ({made.exporter}), and the deployed engine has "
            f"{service.neuron_release}: it refuses models of another release"
        )
    driver, runtime = service.neuron_driver, service.neuron_runtime
    problem = facts.driver_problem(driver, runtime) if driver and runtime else None
    if problem:
        yield f"its hosts cannot run it: {problem}. Change `host_image` of the model there and deploy"


def _shape_problems(made: Compiled, service: ServiceDescription) -> Iterator[str]:
    told = service.compiled
    if told is not None and told != made.shape:
        yield (
            f"it is compiled for {_shown(made.shape)}, and the environment file says {_shown(told)}: change `compiled` "
            "of the model there and deploy, or compile it so"
        )
    if made.tensor_parallel_size > service.logical_neuron_cores:
        yield (
            f"it needs {made.tensor_parallel_size} NeuronCores, and {service.instance_type} has "
            f"{service.logical_neuron_cores}"
        )
    elif service.engine in facts.inference_engines():
        engine = facts.inference_engine(service.engine)
        for problem in engine.settings_problems(made.shape, service.limits, service.logical_neuron_cores):
            yield f"{'.'.join(problem.field)} of the environment file {problem.message}. {problem.fix}"


def _file_problems(published: PublishedModel, service: ServiceDescription) -> Iterator[str]:
    engine = facts.inference_engines().get(service.engine)
    missing = [name for name in engine.model_files if name not in published.files] if engine else []
    if missing:
        yield f"it has no {', '.join(missing)}, without which {service.engine} does not start"


def _memory_problems(published: PublishedModel, made: Compiled, service: ServiceDescription) -> Iterator[str]:
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
    if service.volume_gib is not None and published.size > service.volume_gib * _GIB:
        yield (
            f"it has {published.size / _GIB:.1f} GiB, and a host copies it to a volume of {service.volume_gib} GiB: "
            "raise source.volume_gib of the model and deploy"
        )


def notices(
    published: PublishedModel, architectures: Sequence[str], service: ServiceDescription, region: str
) -> Iterator[str]:
    """Yield what a person should know before saying yes.

    Args:
        published: the version.
        architectures: what its `config.json` names; empty where it names none.
        service: the service.
        region: AWS Region of its hosts, whose prices are named.
    """
    if service.neuron_release is None:
        yield "the Neuron release in the engine's image is not known: whether it loads this version cannot be checked"
    if service.neuron_driver is None:
        yield (
            "hosts start from AWS's newest image, whose Neuron driver may not work with the engine: deploy the "
            "inference stack, which pins an image"
        )
    if not architectures:
        yield f"its config.json names no architecture: whether {service.engine} serves it cannot be checked"
    elif not service.architectures:
        yield f"which architectures {service.engine} serves is not known: {', '.join(architectures)} is not checked"
    if service.desired_count == 0:
        yield "min_count is 0: the version is chosen, and served as soon as a schedule or a deployment asks for tasks"
    yield from _tight_host(published.size / _GIB, service, region)


def _tight_host(size_gib: float, service: ServiceDescription, region: str) -> Iterator[str]:
    if size_gib > service.memory_gib * facts.HOST_SHARE:
        known = service.engine in facts.inference_engines() and service.instance_type in facts.instance_types()
        larger = known and facts.hosts_that_hold(size_gib, service.engine, service.instance_type, region)
        yield (
            f"its {size_gib:.1f} GiB are loaded through the {service.memory_gib} GiB of host memory of "
            f"{service.instance_type}; above {facts.HOST_SHARE:.0%} the engine may be killed for lack of memory: "
            f"take a larger instance_type{f', {larger},' if larger else ''} and deploy first"
        )


def share_notices(percent: int, service: ServiceDescription) -> Iterator[str]:
    """Yield what a share of the requests means for a candidate, which has one task."""
    tasks = service.desired_count
    even = round(100 / (tasks + 1))
    if tasks and percent > even:
        yield (
            f"the candidate has one task, and {tasks} serve the version: with more than {even} % of the requests it "
            "has more to do than each of those"
        )


def _shown(shape: facts.CompiledShape) -> str:
    return f"batch {shape.batch_size}, {shape.sequence_length} tokens, {shape.tensor_parallel_size} cores"
