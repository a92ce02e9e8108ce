"""Rules about the endpoint's models: their names, engines, images and hosts."""

from collections.abc import Iterator

from slipway import facts
from slipway.spec.environment import Environment
from slipway.spec.inference import Inference, ServedModel
from slipway.spec.problems import Finding, Path, listed, near_names, shown
from slipway.spec.rules.offerings import accelerated_types, not_offered, unknown_type
from slipway.spec.rules.region import zones
from slipway.spec.rules.registry import model_rule
from slipway.spec.section import InvalidPart

_FLOATING_TAG = ":latest"


def inference_of(environment: Environment) -> Inference:
    """Return the endpoint's section.

    Raises:
        InvalidPart: The environment has no endpoint, so there is nothing to check.
    """
    if environment.inference is None:
        raise InvalidPart("inference")
    return environment.inference


@model_rule
def engine_known(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The inference engine is one that the facts describe."""
    known = facts.inference_engines()
    if model.engine not in known:
        fix = near_names(model.engine, known) or f"Write {listed(known)}."
        yield Finding((*path, "engine"), f"there are no facts about an inference engine {shown(model.engine)}", fix)


@model_rule
def image_pinned(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The container image has a tag that stays, not `latest`."""
    if model.image is not None and model.image.endswith(_FLOATING_TAG):
        fix = "Write a version's tag or a digest (`@sha256:...`)."
        yield Finding((*path, "image"), "the tag `latest` means another image every week", fix)


@model_rule
def host_type_known(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The hosts' instance type is one that the facts describe."""
    yield from unknown_type((*path, "instance_type"), model.instance_type, accelerated_types())


@model_rule
def engine_on_host(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """The engine runs on the hosts' chip."""
    engine = facts.inference_engine(model.engine)
    if facts.instance_type(model.instance_type).family not in engine.instance_families:
        possible = [row.name for row in facts.instance_types().values() if row.family in engine.instance_families]
        message = f"{engine.name} does not run on {model.instance_type} (facts of {engine.as_of})"
        yield Finding((*path, "instance_type"), message, f"Write {listed(possible)}.")


@model_rule
def host_type_offered(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """At least one of the environment's zones offers the hosts' instance type."""
    zone_ids = tuple(zone for _, zone in zones(environment))
    yield from not_offered((*path, "instance_type"), model.instance_type, environment.region, zone_ids)
