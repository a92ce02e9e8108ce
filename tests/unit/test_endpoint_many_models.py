"""Any set of models behind one endpoint: a request reaches the one that it names, under the engine's own path."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from slipway import facts
from tests.endpoint.gateway_rules import ReceivedRequest, rewritten, rule_for
from tests.endpoint.gateway_template import Forward, KnownRule, LoadBalancerTemplate
from tests.endpoint.stack_values import StackValues
from tests.endpoint_stack import Wanted, route, synthesize

Where = tuple[str | None, str | None]
"""Path and host of a route."""

OTHER_HOST = "someone-else.example.com"
METHODS = {"/v1/models": "GET"}
PATHS = st.none() | st.from_regex(r"/[a-z0-9][a-z0-9-]{0,20}", fullmatch=True)
HOSTS = st.none() | st.sampled_from(["a.example.com", "b.example.com"])
SLUGS = st.lists(st.from_regex(r"[A-Z][A-Za-z0-9]{0,20}", fullmatch=True), min_size=6, max_size=6, unique=True)
ROUTES = st.lists(st.tuples(PATHS, HOSTS), min_size=1, max_size=6, unique=True)
ENGINES = st.lists(st.sampled_from(sorted(facts.inference_engines())), min_size=6, max_size=6)


def rules_of(models: Mapping[str, tuple[str, Where]]) -> tuple[KnownRule, ...]:
    """The listener's rules in a synthesized stack with these models, read by somebody who knows only load balancers."""
    with tempfile.TemporaryDirectory() as directory:
        routes = {slug: route(path, host, engine=engine) for slug, (engine, (path, host)) in models.items()}
        synthesized = synthesize(Path(directory), Wanted(), routes)
    template = LoadBalancerTemplate(StackValues(synthesized.template))
    (listener,) = template.listeners
    return template.rules(listener)


def model_of(rule: KnownRule, models: Mapping[str, object]) -> str | None:
    """The model whose target group a rule forwards to; none if it answers itself."""
    (action,) = rule.actions
    if not isinstance(action, Forward):
        return None
    (group,) = action.target_groups
    # A logical id is the path's names and a hash of eight digits.
    (slug,) = [slug for slug in models if group.target_group_arn[:-8] == f"Endpoint{slug}Targets"]
    return slug


@settings(max_examples=25)
@given(SLUGS, ENGINES, ROUTES)
def test_each_model_gets_its_own_requests_and_nothing_else(
    slugs: list[str], engines: list[str], routes: list[Where]
) -> None:
    models = dict(zip(slugs, zip(engines, routes, strict=False), strict=False))
    rules = rules_of(models)

    for slug, (engine, (path, host)) in models.items():
        row = facts.inference_engine(engine)
        for wanted in row.inference_paths:
            request = ReceivedRequest(
                method=METHODS.get(wanted, "POST"), host=host or OTHER_HOST, target=f"{path or ''}{wanted}?stream=true"
            )
            rule = rule_for(rules, request)
            assert model_of(rule, models) == slug
            assert rewritten(rule.rewrite, request) == f"{wanted}?stream=true"
        for template in row.other_paths:
            closed = re.sub(r"{\w+}", "any", template)
            for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
                request = ReceivedRequest(method=method, host=host or OTHER_HOST, target=f"{path or ''}{closed}")
                assert model_of(rule_for(rules, request), models) is None
