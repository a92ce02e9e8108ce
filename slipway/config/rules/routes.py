"""Rules about routes: how requests for one of the endpoint's models are distinguished from those for another."""

from collections.abc import Iterator

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.inference import ServedModel
from slipway.config.problems import Finding, Path
from slipway.config.rules.inference import MODELS, inference_of
from slipway.config.rules.registry import environment_rule, model_rule


@model_rule
def route_of_one_kind(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A route is a path or a host name, not both."""
    route = model.route
    if route.path is not None and route.host is not None:
        message = f"takes a path or a host name (got {route.path} and {route.host})"
        yield Finding((*path, "route"), message, "Remove one of them.")


@environment_rule
def models_told_apart(environment: Environment) -> Iterator[Finding]:
    """At most one model has no route: it gets what no route of another is for."""
    default: str | None = None
    for index, model in enumerate(inference_of(environment).models):
        if model.route.path is not None or model.route.host is not None:
            continue
        if default is not None:
            message = f"requests for {model.name} and for {default} look alike: neither has a route"
            fix = f"Add `route: {{path: /{model.name.replace('.', '-')}}}`, or a `host`."
            yield Finding((*MODELS, index, "route"), message, fix)
        else:
            default = model.name


@environment_rule
def routes_distinct(environment: Environment) -> Iterator[Finding]:
    """No two models have the same route."""
    seen: dict[str, str] = {}
    for index, model in enumerate(inference_of(environment).models):
        for kind, value in (("path", model.route.path), ("host", model.route.host)):
            if value is None:
                continue
            if value in seen:
                message = f"{value} leads to {seen[value]} already"
                yield Finding((*MODELS, index, "route", kind), message, f"Write another {kind}.")
            seen.setdefault(value, model.name)


@model_rule
def route_path_free(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A route's path differs from those that engines answer themselves, such as /v1 or /health."""
    if model.route.path in _engine_folders():
        message = f"engines answer at {model.route.path} themselves"
        fix = f"Write another folder, for example `{model.route.path}-model`."
        yield Finding((*path, "route", "path"), message, fix)


def _engine_folders() -> set[str]:
    """Return the first folder of each path that an engine answers."""
    return {
        f"/{answered.strip('/').partition('/')[0]}"
        for engine in facts.inference_engines().values()
        for answered in (*engine.inference_paths, *engine.other_paths, engine.health_path, engine.metrics_path)
    }


@environment_rule
def route_host_beside_default(environment: Environment) -> Iterator[Finding]:
    """No model has the endpoint's own name as its host while another has no route: that one would get no requests."""
    inference = inference_of(environment)
    record = inference.endpoint.dns_record
    routeless = [model.name for model in inference.models if model.route.path is None and model.route.host is None]
    for index, model in enumerate(inference.models):
        if record is not None and routeless and model.route.host == record.name:
            message = f"all requests to the endpoint's own name would go to {model.name}, and none to {routeless[0]}"
            fix = f"Remove this route and give {routeless[0]} one."
            yield Finding((*MODELS, index, "route", "host"), message, fix)
