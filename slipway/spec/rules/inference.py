"""Rules about the endpoint's engine and hosts."""

from collections.abc import Iterator

from slipway import facts
from slipway.spec.environment import Environment
from slipway.spec.inference import Inference
from slipway.spec.problems import Finding, listed, near_names, shown
from slipway.spec.rules.offerings import accelerated_types, not_offered, unknown_type
from slipway.spec.rules.region import zones
from slipway.spec.rules.registry import environment_rule
from slipway.spec.section import InvalidPart

_INSTANCE_TYPE = ("inference", "instance_type")
_FLOATING_TAG = ":latest"


def inference_of(environment: Environment) -> Inference:
    """Return the endpoint's section.

    Raises:
        InvalidPart: The environment has no endpoint, so there is nothing to check.
    """
    if environment.inference is None:
        raise InvalidPart("inference")
    return environment.inference


@environment_rule
def engine_known(environment: Environment) -> Iterator[Finding]:
    """The inference engine is one that the facts describe."""
    engine, known = inference_of(environment).engine, facts.inference_engines()
    if engine not in known:
        fix = near_names(engine, known) or f"Write {listed(known)}."
        yield Finding(("inference", "engine"), f"there are no facts about an inference engine {shown(engine)}", fix)


@environment_rule
def image_pinned(environment: Environment) -> Iterator[Finding]:
    """The container image has a tag that stays, not `latest`."""
    image = inference_of(environment).image
    if image is not None and image.endswith(_FLOATING_TAG):
        fix = "Write a version's tag or a digest (`@sha256:...`)."
        yield Finding(("inference", "image"), "the tag `latest` means another image every week", fix)


@environment_rule
def host_type_known(environment: Environment) -> Iterator[Finding]:
    """The hosts' instance type is one that the facts describe."""
    yield from unknown_type(_INSTANCE_TYPE, inference_of(environment).instance_type, accelerated_types())


@environment_rule
def engine_on_host(environment: Environment) -> Iterator[Finding]:
    """The engine runs on the hosts' chip."""
    inference = inference_of(environment)
    engine = facts.inference_engine(inference.engine)
    if facts.instance_type(inference.instance_type).family not in engine.instance_families:
        possible = [row.name for row in facts.instance_types().values() if row.family in engine.instance_families]
        message = f"{engine.name} does not run on {inference.instance_type} (facts of {engine.as_of})"
        yield Finding(_INSTANCE_TYPE, message, f"Write {listed(possible)}.")


@environment_rule
def host_type_offered(environment: Environment) -> Iterator[Finding]:
    """At least one of the environment's zones offers the hosts' instance type."""
    zone_ids = tuple(zone for _, zone in zones(environment))
    yield from not_offered(_INSTANCE_TYPE, inference_of(environment).instance_type, environment.region, zone_ids)


@environment_rule
def desired_count_within_maximum(environment: Environment) -> Iterator[Finding]:
    """desired_count is not larger than max_count."""
    inference = inference_of(environment)
    if inference.desired_count > inference.max_count:
        message = f"is larger than max_count (got {inference.desired_count}, max_count is {inference.max_count})"
        fix = f"Write {inference.max_count} or less, or raise max_count."
        yield Finding(("inference", "desired_count"), message, fix)


@environment_rule
def serving_needs_model(environment: Environment) -> Iterator[Finding]:
    """desired_count is 0 as long as no model is named: without one no task becomes healthy and the deployment fails."""
    inference = inference_of(environment)
    if inference.desired_count > 0 and inference.model is None:
        message = f"there is no model for {inference.desired_count} tasks to serve"
        yield Finding(("inference", "desired_count"), message, "Add `model: {name: ...}` or write 0.")


@environment_rule
def model_named_once(environment: Environment) -> Iterator[Finding]:
    """A model is either a fixed prefix or a name whose versions are rolled out."""
    model = inference_of(environment).model
    if model is not None and (model.prefix is None) == (model.name is None):
        which = "neither" if model.prefix is None else "both"
        fix = "Write `name:` to roll versions out, or `prefix:` for a folder that stays."
        yield Finding(("inference", "model"), f"takes a name or a prefix ({which} is there)", fix)
