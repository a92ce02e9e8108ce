"""Rules and notices about the endpoint's models: their names, engines, images and hosts."""

import re
from collections.abc import Iterator

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.inference import MOST_SERVICES, Compiled, Inference, ServedModel
from slipway.config.problems import Finding, Path, listed, near_names, shown
from slipway.config.rules.offerings import not_offered, not_sold, serving_types, unknown_type
from slipway.config.rules.region import zones
from slipway.config.rules.registry import environment_notice, environment_rule, model_notice, model_rule
from slipway.config.section import InvalidPart

MODELS = ("inference", "models")
"""Path of the list of models."""

_FLOATING_TAG = ":latest"
_IN_ECR = re.compile(r"[0-9]{12}\.dkr[.-]ecr[.-]")
_CANDIDATE = "Candidate"


def inference_of(environment: Environment) -> Inference:
    """Return the endpoint's section.

    Raises:
        InvalidPart: The environment has no endpoint, so there is nothing to check.
    """
    if environment.inference is None:
        raise InvalidPart("inference")
    return environment.inference


def in_ecr(image: str) -> bool:
    """Return whether an image is in a private repository of Amazon ECR."""
    return _IN_ECR.match(image) is not None


@environment_rule
def model_names_distinct(environment: Environment) -> Iterator[Finding]:
    """Each model's name is its own, also as its letters and digits alone: stacks take no others in ids and outputs."""
    seen: dict[str, str] = {}
    for index, model in enumerate(inference_of(environment).models):
        before = seen.get(model.slug)
        if before is not None:
            alike = "appears twice" if before == model.name else f"and {before} are both {model.slug} in the stack"
            yield Finding((*MODELS, index, "name"), f"{model.name} {alike}", "Give it another name.")
        seen.setdefault(model.slug, model.name)
        if model.canary:
            seen.setdefault(f"{model.slug}{_CANDIDATE}", f"the canary of {model.name}")


@environment_rule
def services_fit_stack(environment: Environment) -> Iterator[Finding]:
    """Models and canaries together are few enough for one CloudFormation stack."""
    models = inference_of(environment).models
    canaries = sum(model.canary for model in models)
    if len(models) + canaries > MOST_SERVICES >= len(models):
        message = (
            f"{len(models)} models and {canaries} canaries are {len(models) + canaries} services, and the stack has "
            f"room for {MOST_SERVICES}"
        )
        yield Finding(MODELS, message, "Write fewer canaries, or move models to another environment.", at_key=True)


@model_rule
def canary_rolled_out(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A model with `prefix` has no canary: nothing new is rolled out that it could try."""
    if model.canary and model.prefix is not None:
        fix = "Remove `prefix` and roll versions out, or remove this line."
        yield Finding((*path, "canary"), f"there is one folder, {model.prefix}, and no other version to try", fix)


@model_rule
def engine_known(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The inference engine is one that Slipway knows."""
    known = facts.inference_engines()
    if model.engine not in known:
        fix = near_names(model.engine, known) or f"Write {listed(known)}."
        yield Finding((*path, "engine"), f"Slipway does not know the inference engine {shown(model.engine)}", fix)


@environment_notice
def engine_maintained(environment: Environment) -> Iterator[Finding]:
    """An engine gets no fixes from upstream any more, and another one can take its place."""
    models = inference_of(environment).models
    archived = [row for row in facts.inference_engines().values() if row.replaced_by is not None]
    for engine in archived:
        indexes = [index for index, model in enumerate(models) if model.engine == engine.name]
        if indexes:
            users = listed((models[index].name for index in indexes), "and")
            message = f"{engine.name} of {users}: {_first_sentence(engine.note)}"
            fix = (
                f"Write `engine: {engine.replaced_by}` and compile its versions again: an engine loads what its own "
                "Neuron release has compiled."
            )
            yield Finding((*MODELS, indexes[0], "engine"), message, fix)


def _first_sentence(text: str) -> str:
    return re.split(r"\.\s", text, maxsplit=1)[0].rstrip(".")


@model_rule
def image_pinned(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The container image has a tag that stays, not `latest`."""
    if model.image is not None and model.image.endswith(_FLOATING_TAG):
        fix = "Write a version's tag or a digest (`@sha256:...`)."
        yield Finding((*path, "image"), "the tag `latest` means another image every week", fix)


@model_rule
def mirrored_image_elsewhere(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """An image that is mirrored into Amazon ECR is not there already."""
    if model.mirror_image and model.image is not None and in_ecr(model.image):
        message = f"the image is in Amazon ECR already ({model.image.partition('/')[0]})"
        yield Finding((*path, "mirror_image"), message, "Remove this line, or `image`.")


@model_rule
def engine_starts(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The engine would start: `compiled` and `limits` pass its own checks, and the host has NeuronCores enough."""
    limits = {"max_batch_size": model.limits.max_batch_size, "max_input_tokens": model.limits.max_input_tokens}
    limits["max_total_tokens"] = model.limits.max_total_tokens
    problems = facts.inference_engine(model.engine).settings_problems(
        _shape(model.compiled) if model.compiled else None,
        {name: value for name, value in limits.items() if value is not None},
        facts.instance_type(model.instance_type).logical_neuron_cores,
    )
    for problem in problems:
        yield Finding((*path, *problem.field), problem.message, problem.fix)


@model_notice
def cores_at_work(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A model was compiled for fewer NeuronCores than its host has: one task has the host, and the rest stay idle."""
    host = facts.instance_type(model.instance_type)
    if model.compiled is not None and model.compiled.tensor_parallel_size < host.logical_neuron_cores:
        used, cores = model.compiled.tensor_parallel_size, host.logical_neuron_cores
        enough = [row for row in serving_types() if row.family == host.family and row.logical_neuron_cores >= used]
        fewest = min(row.logical_neuron_cores for row in enough)
        smaller = [row.name for row in enough if row.logical_neuron_cores == fewest < cores]
        message = f"{model.name} uses {used} of {cores} NeuronCores of {host.name}; the rest stay idle"
        instead = f"Write `instance_type:` {listed(smaller)}, or compile" if smaller else "Compile"
        fix = f"{instead} it for {cores}."
        yield Finding((*path, "compiled", "tensor_parallel_size"), message, fix)


@model_rule
def weights_pass_through_host(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The model's weights fit into the memory of its host, through which they are loaded."""
    host = facts.instance_type(model.instance_type)
    if model.weights_gib is not None and model.weights_gib > host.memory_gib:
        yield _small_host(environment, path, model, "and do not fit")


@model_notice
def host_memory_tight(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A model's weights fill so much of its host's memory that the engine may be killed while it loads them."""
    memory = facts.instance_type(model.instance_type).memory_gib
    if model.weights_gib is not None and memory * facts.HOST_SHARE < model.weights_gib <= memory:
        killed = f"and above {facts.HOST_SHARE:.0%} the engine may be killed for lack of memory"
        yield _small_host(environment, path, model, killed)


def _small_host(environment: Environment, path: Path, model: ServedModel, consequence: str) -> Finding:
    weights, host = model.weights_gib or 0, facts.instance_type(model.instance_type)
    message = (
        f"the weights of {model.name} ({weights:g} GiB) take {weights / host.memory_gib:.0%} of the {host.memory_gib} "
        f"GiB of host memory that {host.name} loads them through, {consequence}"
    )
    larger = facts.hosts_that_hold(weights, model.engine, host.name, environment.region)
    fix = f"Write {larger}." if larger else f"No host of {model.engine} in {environment.region} has more memory."
    return Finding((*path, "instance_type"), message, fix)


def _shape(compiled: Compiled) -> facts.CompiledShape:
    return facts.CompiledShape(
        batch_size=compiled.batch_size,
        sequence_length=compiled.sequence_length,
        tensor_parallel_size=compiled.tensor_parallel_size,
    )


@model_rule
def host_type_known(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The hosts' instance type is one that Slipway knows."""
    yield from unknown_type((*path, "instance_type"), model.instance_type, serving_types())


@model_rule
def engine_on_host(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The engine runs on the hosts' chip."""
    engine = facts.inference_engine(model.engine)
    if facts.instance_type(model.instance_type).family not in engine.instance_families:
        possible = [row.name for row in facts.instance_types().values() if row.family in engine.instance_families]
        message = f"{engine.name} does not run on {model.instance_type} (facts of {engine.as_of})"
        yield Finding((*path, "instance_type"), message, f"Write {listed(possible)}.")


@model_rule
def host_driver_fits_engine(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The Neuron driver in the hosts' image works with the runtime library in the engine's."""
    engine = facts.inference_engine(model.engine)
    runtime, own = engine.runtime_in(model.image), model.host_image
    driver = own.neuron_driver if own else facts.machine_image(engine.machine_image).neuron_driver
    problem = facts.driver_problem(driver, runtime) if runtime else None
    if problem:
        message = f"{problem} (engine {engine.name}, facts of {facts.drivers_for(str(runtime)).as_of})"
        fix = f"Leave `host_image` out, or name an image with a driver {facts.drivers_for(str(runtime))}."
        yield Finding((*path, "host_image", "neuron_driver") if own else (*path, "engine"), message, fix)


@model_rule
def reserved_hosts_in_zone(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The reservation of a model's hosts is in one of the environment's zones."""
    zone_ids = [zone for _, zone in zones(environment)]
    reservation = model.capacity_reservation
    if reservation is not None and reservation.availability_zone_id not in zone_ids:
        message = f"{reservation.availability_zone_id} is not a zone of the environment"
        fix = f"Write {listed(zone_ids)}, or add it to network.other_availability_zone_ids."
        yield Finding((*path, "capacity_reservation", "availability_zone_id"), message, fix)


@model_rule
def reserved_hosts_sold(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """EC2 sells the hosts' instance type in the way that their reservation says."""
    if model.capacity_reservation is not None:
        capacity_type = model.capacity_reservation.capacity_type
        yield from not_sold((*path, "instance_type"), model.instance_type, capacity_type, "the reservation's")


@environment_rule
def reservation_of_hosts_their_own(environment: Environment) -> Iterator[Finding]:
    """The reservation of a model's hosts is used by no other model and by no nodes: they would take its slots."""
    queues = environment.training.queues if environment.training else ()
    groups = environment.kubernetes.node_groups if environment.kubernetes else ()
    users = {queue.capacity_reservation_id: f"queue {queue.name}" for queue in queues}
    users |= {group.capacity_reservation_id: f"node group {group.name}" for group in groups}
    for index, model in enumerate(inference_of(environment).models):
        reserved = model.capacity_reservation.id if model.capacity_reservation else None
        if reserved is not None and reserved in users:
            message = f"{users[reserved]} uses {reserved} already"
            yield Finding((*MODELS, index, "capacity_reservation", "id"), message, "Name another reservation.")
        users.setdefault(reserved, f"model {model.name}")


@model_rule
def host_type_offered(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """At least one of the environment's zones offers the hosts' instance type; that of their reservation if any."""
    reservation = model.capacity_reservation
    zone_ids = (reservation.availability_zone_id,) if reservation else tuple(zone for _, zone in zones(environment))
    yield from not_offered((*path, "instance_type"), model.instance_type, environment.region, zone_ids)
