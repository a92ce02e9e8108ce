"""The listener's rules: which request reaches which model, under which path, with which token."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest

from neuron_constructs.inference.endpoint import TokenCheck
from slipway import facts
from tests.assembly import cdk_context
from tests.endpoint_stack import (
    CERTIFICATE,
    TOKENS,
    Synthesized,
    Wanted,
    add_endpoint,
    endpoint_stack,
    route,
    synthesize,
)

HOST = "qwen.llm.example.com"
ROUTES = {
    "Plain": route(),
    "Tanuki8b": route("/tanuki-8b"),
    "Qwen": route(host=HOST),
    "Mistral": route("/mistral", HOST, candidate_weights=(95, 5)),
}
# Longest allowed rule: five comparison strings, three in a condition (listener rules, Application Load Balancer guide).
STRINGS_IN_A_RULE, STRINGS_IN_A_CONDITION = 5, 3


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Several models behind one endpoint with a token check."""
    return synthesize(tmp_path_factory.mktemp("several"), Wanted(certificate_arn=CERTIFICATE, tokens=TOKENS), ROUTES)


def values(rule: Mapping[str, Any], field: str) -> list[str]:
    """What a rule compares a field with."""
    configs = {"http-request-method": "HttpRequestMethodConfig", "path-pattern": "PathPatternConfig"}
    for condition in rule["Conditions"]:
        if condition["Field"] == field:
            found: list[str] = condition[configs.get(field, "HostHeaderConfig")]["Values"]
            return found
    return []


def forwards(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Weights of a rule's target groups, by logical id."""
    action = rule["Actions"][-1]
    assert action["Type"] == "forward"
    if "TargetGroupArn" in action:
        return {action["TargetGroupArn"]["Ref"]: 1}
    return {group["TargetGroupArn"]["Ref"]: group["Weight"] for group in action["ForwardConfig"]["TargetGroups"]}


def route_of(synthesized: Synthesized, method: str, path: str, host: str = "anything.example.com") -> str | None:
    """The model that a request reaches; none where the default action answers."""
    for rule in synthesized.rules():
        hosts = values(rule, "host-header") or [host]
        if host in hosts and method in values(rule, "http-request-method") and path in values(rule, "path-pattern"):
            (model,) = {name for name in ROUTES for group in forwards(rule) if group.startswith(f"Endpoint{name}")}
            return model
    return None


@pytest.mark.parametrize(
    ("method", "path", "host", "model"),
    [
        ("POST", "/v1/chat/completions", "any.example.com", "Plain"),
        ("POST", "/v1/completions", "any.example.com", "Plain"),
        ("GET", "/v1/models", "any.example.com", "Plain"),
        ("POST", "/tanuki-8b/v1/chat/completions", "any.example.com", "Tanuki8b"),
        ("GET", "/tanuki-8b/v1/models", HOST, "Tanuki8b"),
        ("POST", "/v1/chat/completions", HOST, "Qwen"),
        ("POST", "/mistral/v1/chat/completions", HOST, "Mistral"),
        ("POST", "/mistral/v1/chat/completions", "any.example.com", None),
        ("GET", "/v1/chat/completions", "any.example.com", None),
        ("POST", "/v1/models", "any.example.com", None),
        ("DELETE", "/v1/models", "any.example.com", None),
        ("GET", "/metrics", "any.example.com", None),
        ("POST", "/invocations", HOST, None),
        ("GET", "/tanuki-8b/metrics", "any.example.com", None),
        ("POST", "/tanuki-8b", "any.example.com", None),
        ("POST", "/v1/chat/completions/", "any.example.com", None),
    ],
)
def test_a_request_reaches_its_model_or_none(
    several: Synthesized, method: str, path: str, host: str, model: str | None
) -> None:
    assert route_of(several, method, path, host) == model


def test_rules_keep_to_the_load_balancers_limits_and_name_exact_paths(several: Synthesized) -> None:
    for rule in several.rules():
        counts = [len(values(rule, condition["Field"])) for condition in rule["Conditions"]]
        assert sum(counts) <= STRINGS_IN_A_RULE
        assert max(counts) <= STRINGS_IN_A_CONDITION
        assert 1 <= int(rule["Priority"]) <= 50_000
        assert not re.search(r"[*?]", "".join(values(rule, "path-pattern")))


def test_an_engine_with_many_paths_gets_more_rules(tmp_path: Path) -> None:
    row = facts.inference_engine("tgi")
    paths = [f"/v1/{name}" for name in ("chat/completions", "completions", "embeddings", "responses", "models")]
    many = replace(route(host=HOST), engine=row.model_copy(update={"inference_paths": tuple(paths)}))
    synthesized = synthesize(tmp_path, Wanted(), {"Many": many})

    assert [len(values(rule, "path-pattern")) for rule in synthesized.rules()] == [3, 1, 1]
    assert {path for rule in synthesized.rules() for path in values(rule, "path-pattern")} == set(paths)


def test_the_folder_is_taken_off_every_path_and_nothing_else(several: Synthesized) -> None:
    rewritten = 0
    for rule in several.rules():
        for path in values(rule, "path-pattern"):
            seen = path
            for transform in rule.get("Transforms", []):
                assert transform["Type"] == "url-rewrite"
                (rewrite,) = transform["UrlRewriteConfig"]["Rewrites"]
                replace = rewrite["Replace"].replace("$1", r"\1")
                seen = re.sub(rewrite["Regex"], replace, path)
                assert re.sub(rewrite["Regex"], replace, f"{path}?a=/x") == f"{seen}?a=/x"
                assert rewrite["Regex"].startswith("^")
                # What the load balancer's regular expressions lack: lookaround, backreference, possessive quantifier.
                assert not re.search(r"\(\?|\\[1-9]|[*+?]\+", rewrite["Regex"])
                rewritten += 1
            assert seen in facts.inference_engine("tgi").inference_paths
    assert rewritten == 6


def test_every_rule_checks_the_token_first(several: Synthesized) -> None:
    for rule in several.rules():
        check, forward = sorted(rule["Actions"], key=lambda action: int(action["Order"]))
        assert (check["Type"], forward["Type"]) == ("jwt-validation", "forward")
        assert check["JwtValidationConfig"] == {
            "Issuer": "https://login.example.com/",
            "JwksEndpoint": "https://login.example.com/keys",
            "AdditionalClaims": [{"Name": "aud", "Format": "string-array", "Values": ["llm"]}],
        }


def test_a_candidate_gets_its_share_and_no_client_sticks_to_it(several: Synthesized) -> None:
    (post, get) = [rule for rule in several.rules() if "/mistral" in str(rule["Conditions"])]

    assert sorted(forwards(post).values()) == sorted(forwards(get).values()) == [5, 95]
    (candidate,) = [group for group, weight in forwards(post).items() if weight == 5]
    assert "Candidate" in candidate
    assert "TargetGroupStickinessConfig" not in str(several.rules())


def test_weights_may_be_parameters_of_the_stack() -> None:
    app = cdk.App(context=cdk_context())
    stack = endpoint_stack(app)
    served, candidate = (
        cast("int", cdk.CfnParameter(stack, name, type="Number", default=0).value_as_number)
        for name in ("Served", "Candidate")
    )
    made = add_endpoint(stack, Wanted()).add_model("Tanuki", route(candidate_weights=(served, candidate)))
    template = app.synth().get_stack_by_name("endpoint").template
    rules = [item["Properties"] for item in template["Resources"].values() if item["Type"].endswith("::ListenerRule")]

    assert made.candidate_target_group is not None
    for rule in rules:
        assert list(forwards(rule).values()) == [{"Ref": "Served"}, {"Ref": "Candidate"}]


def test_priorities_stay_when_other_models_come_and_go(several: Synthesized, tmp_path: Path) -> None:
    def priorities(synthesized: Synthesized) -> dict[str, int]:
        return {
            logical_id: rule["Priority"]
            for logical_id, rule in synthesized.resources("ElasticLoadBalancingV2::ListenerRule").items()
        }

    fewer = dict(reversed([(name, props) for name, props in ROUTES.items() if name != "Plain"]))
    left = priorities(synthesize(tmp_path, Wanted(certificate_arn=CERTIFICATE, tokens=TOKENS), fewer))

    assert left == {rule: priority for rule, priority in priorities(several).items() if "Plain" not in rule}
    assert len(set(priorities(several).values())) == 2 * len(ROUTES)


def test_models_whose_ids_hash_alike_get_priorities_of_their_own(tmp_path: Path) -> None:
    # crc32 of both is 810 modulo the number of places.
    synthesized = synthesize(tmp_path, Wanted(), {"M16": route("/a"), "M77": route("/b")})

    assert len({rule["Priority"] for rule in synthesized.rules()}) == 4


def test_base_urls_say_where_clients_ask(tmp_path: Path) -> None:
    synthesized = synthesize(tmp_path, Wanted(certificate_arn=CERTIFICATE), {"A": route("/a", HOST), "B": route("/b")})

    assert synthesized.base_urls["A"] == f"https://{HOST}/a/v1"
    joined = synthesized.base_urls["B"]["Fn::Join"][1]  # type: ignore[index]
    assert (joined[0], joined[2]) == ("https://", "/b/v1")


@pytest.mark.parametrize("engine", list(facts.inference_engines()))
def test_target_groups_speak_to_the_engine_and_let_answers_end(tmp_path: Path, engine: str) -> None:
    row = facts.inference_engine(engine)
    group = synthesize(tmp_path, Wanted(), {"A": route(engine=engine)}).resource("ElasticLoadBalancingV2::TargetGroup")
    found = {item["Key"]: item["Value"] for item in group["TargetGroupAttributes"]}

    assert (group["Port"], group["HealthCheckPath"], group["TargetType"]) == (row.port, row.health_path, "ip")
    # SIGTERM comes after it, and what the engine then finishes within its stop time-out is on top.
    assert int(found["deregistration_delay.timeout_seconds"]) == 300 > row.stop_timeout_seconds
    assert found["load_balancing.algorithm.type"] == "least_outstanding_requests"
    assert found["stickiness.enabled"] == "false"
    assert "slow_start.duration_seconds" not in found


@pytest.mark.parametrize("tokens", [None, TOKENS], ids=["open", "tokens"])
def test_a_service_waits_until_its_target_groups_have_a_load_balancer(tokens: TokenCheck | None) -> None:
    app = cdk.App(context=cdk_context())
    stack = endpoint_stack(app)
    endpoint = add_endpoint(stack, Wanted(certificate_arn=CERTIFICATE, tokens=tokens))
    made = endpoint.add_model("Tanuki", route(candidate_weights=(1, 1)))
    assert made.candidate_target_group is not None
    for name, group in (("Served", made.target_group), ("Candidate", made.candidate_target_group)):
        service = cdk.CfnResource(stack, name, type="AWS::CloudFormation::WaitConditionHandle")
        # What an ECS service does with its target group: Amazon ECS refuses one that no load balancer has.
        service.node.add_dependency(group.load_balancer_attached)
    resources = app.synth().get_stack_by_name("endpoint").template["Resources"]
    rules = {name for name, resource in resources.items() if resource["Type"].endswith("::ListenerRule")}

    assert len(rules) == 2
    assert rules <= set(resources["Served"]["DependsOn"])
    assert rules <= set(resources["Candidate"]["DependsOn"])


def test_a_busy_engine_keeps_its_place_for_minutes(several: Synthesized) -> None:
    for group in several.resources("ElasticLoadBalancingV2::TargetGroup").values():
        assert group["HealthCheckIntervalSeconds"] * group["UnhealthyThresholdCount"] >= 240
        assert group["HealthCheckTimeoutSeconds"] < group["HealthCheckIntervalSeconds"]
        assert group["Matcher"] == {"HttpCode": "200"}
