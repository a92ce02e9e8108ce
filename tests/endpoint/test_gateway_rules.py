"""The gateway reads a template as Elastic Load Balancing does, and refuses what it does not know."""

import random
from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from tests.endpoint.gateway_rules import ReceivedRequest, chosen_by_weight, redirected, rewritten, rule_for
from tests.endpoint.gateway_template import (
    FixedResponse,
    KnownRule,
    LoadBalancerTemplate,
    RedirectConfig,
    Rewrite,
    TargetGroupTuple,
)
from tests.endpoint.small_template import NOT_FOUND, forward, rule, small_template
from tests.endpoint.stack_values import StackValues


def request(target: str, *, method: str = "GET", host: str = "balancer") -> ReceivedRequest:
    return ReceivedRequest(method=method, host=host, target=target)


def rules(*definitions: dict[str, Any], **parameters: str) -> tuple[KnownRule, ...]:
    declared = {name: {"Type": "Number"} for name in parameters}
    template = small_template(definitions, "one", "two", parameters=declared)
    return LoadBalancerTemplate(StackValues(template, parameters)).rules("Listener")


def answer(priority: int, *paths: str, **more: Any) -> dict[str, Any]:
    return rule(priority, paths, NOT_FOUND, **more)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/v1/models", "/v1/models", True),
        ("/v1/models", "/v1/models?limit=1", True),
        ("/v1/models", "/V1/models", False),
        ("/v1/models", "/v1/models/", False),
        ("/v1/models", "//v1/models", False),
        ("/v1/models", "/v1/models%2f", False),
        ("/v1/*", "/v1/", True),
        ("/v1/*", "/v1/a/b", True),
        ("/v1/*", "/v1/../metrics", True),
        ("/v1/*", "/v2/v1/", False),
        ("/v?/models", "/v2/models", True),
        ("/v?/models", "/v12/models", False),
        ("/a.c", "/abc", False),
        ("/[ab]", "/a", False),
    ],
)
def test_path_patterns_know_two_wildcards_and_the_case(pattern: str, path: str, matches: bool) -> None:
    assert (rule_for(rules(answer(5, pattern)), request(path)).priority == 5) is matches


def test_the_lowest_priority_decides_and_the_default_rule_comes_last() -> None:
    known = rules(answer(30, "/v1/*"), answer(4, "/v1/models"), answer(20, "/*/models"))
    assert [found.priority for found in known] == [4, 20, 30, 50_001]
    assert rule_for(known, request("/v1/models")).priority == 4
    assert rule_for(known, request("/v2/models")).priority == 20
    assert rule_for(known, request("/v1/other")).priority == 30
    default = rule_for(known, request("/"))
    assert isinstance(default.actions[0], FixedResponse)
    assert default.actions[0].fixed_response_config.status_code == 404


def test_all_conditions_of_a_rule_must_hold() -> None:
    conditions = [
        {"Field": "path-pattern", "PathPatternConfig": {"Values": ["/a", "/b"]}},
        {"Field": "host-header", "HostHeaderConfig": {"Values": ["*.LLM.example.com"]}},
        {"Field": "http-request-method", "HttpRequestMethodConfig": {"Values": ["POST"]}},
    ]
    known = rules({**answer(5), "Conditions": conditions})
    assert rule_for(known, request("/b", method="POST", host="Tanuki.llm.example.com")).priority == 5
    assert rule_for(known, request("/b", method="GET", host="tanuki.llm.example.com")).priority > 50_000
    assert rule_for(known, request("/b", method="POST", host="llm.example.com")).priority > 50_000
    assert rule_for(known, request("/c", method="POST", host="tanuki.llm.example.com")).priority > 50_000


def test_a_rewrite_changes_the_url_and_keeps_the_query() -> None:
    rewrite = Rewrite(regex="^/tanuki(/v1/.*)$", replace="$1")
    assert rewritten(rewrite, request("/tanuki/v1/models")) == "/v1/models"
    assert rewritten(rewrite, request("/tanuki/v1/models?limit=1")) == "/v1/models?limit=1"
    assert rewritten(rewrite, request("/v1/models")) == "/v1/models"
    assert rewritten(None, request("/v1/../metrics?a=%2f")) == "/v1/../metrics?a=%2f"


def test_a_rewrite_that_depends_on_the_query_is_refused() -> None:
    with pytest.raises(ValueError, match="without query"):
        rewritten(Rewrite(regex="^/a/([a-z]+)$", replace="/$1"), request("/a/b?c=d"))


@pytest.mark.parametrize("expression", [r"^/a(?=/)", r"^/(.)\1$", r"^/a++$", r"\p{L}"])
def test_expressions_that_load_balancers_do_not_have_are_refused(expression: str) -> None:
    with pytest.raises(ValidationError, match="no such regular expression"):
        Rewrite(regex=expression, replace="/")


def test_a_redirect_keeps_what_it_does_not_name() -> None:
    config = RedirectConfig(protocol="HTTPS", port="443", status_code="HTTP_301")
    moved = redirected(config, request("/v1/models?limit=1", host="llm.example.com"), protocol="HTTP", port=80)
    assert moved == "https://llm.example.com:443/v1/models?limit=1"
    config = RedirectConfig(host="new.#{host}", path="/old/#{path}", query="", status_code="HTTP_302")
    assert redirected(config, request("/a?b", host="x.org"), protocol="HTTP", port=80) == "http://new.x.org:80/old/a"


def test_weights_are_shares() -> None:
    groups = [TargetGroupTuple(target_group_arn=name, weight=weight) for name, weight in (("a", 90), ("b", 10))]
    chance = random.Random(1)
    found = Counter(chosen_by_weight(groups, chance) for _ in range(2000))
    assert set(found) == {"a", "b"}
    assert 140 < found["b"] < 260
    none = [TargetGroupTuple(target_group_arn="a", weight=0)]
    assert chosen_by_weight(none, chance) is None


def test_weights_may_be_parameters() -> None:
    known = rules(rule(5, ["/"], forward(one={"Ref": "Served"}, two={"Ref": "Candidate"})), Served="97", Candidate="3")
    (action,) = known[0].actions
    assert action.type == "forward"
    assert [(group.target_group_arn, group.weight) for group in action.target_groups] == [
        ("oneTargets", 97),
        ("twoTargets", 3),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"Actions": [{"Type": "authenticate-oidc", "AuthenticateOidcConfig": {}}]},
        {"Conditions": [{"Field": "source-ip", "SourceIpConfig": {"Values": ["10.0.0.0/8"]}}]},
        {"Conditions": [{"Field": "path-pattern", "PathPatternConfig": {"RegexValues": ["^/v1"]}}]},
        {"Conditions": []},
        {"Transforms": [{"Type": "host-header-rewrite", "HostHeaderRewriteConfig": {}}]},
        {"NewInTheNextYear": True},
    ],
)
def test_what_the_gateway_does_not_know_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        rules({**answer(5, "/"), **change})


def test_two_rules_of_one_priority_are_refused() -> None:
    with pytest.raises(AssertionError, match="two rules of one priority"):
        rules(answer(5, "/a"), answer(5, "/b"))


def test_a_token_check_alone_is_refused() -> None:
    check = {
        "Type": "jwt-validation",
        "JwtValidationConfig": {"Issuer": "https://issuer", "JwksEndpoint": "https://issuer/keys"},
    }
    with pytest.raises(AssertionError, match="no action after"):
        rules(rule(5, ["/"], check))
    with pytest.raises(AssertionError, match="may come first"):
        rules(rule(5, ["/"], forward(one=1), check))
