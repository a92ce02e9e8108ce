"""The firewall before the endpoint: it refuses floods and known attackers, and lets every prompt through."""

import json
import re
from typing import Any

import pytest

from tests.endpoint_stack import CERTIFICATE, Synthesized, Wanted, route, synthesize

# The rules of each group that read the body (AWS WAF developer guide, "Baseline rule groups").
BODY_RULES = {
    "AWSManagedRulesCommonRuleSet": {
        "SizeRestrictions_BODY",
        "EC2MetaDataSSRF_BODY",
        "GenericLFI_BODY",
        "GenericRFI_BODY",
        "CrossSiteScripting_BODY",
    },
    "AWSManagedRulesKnownBadInputsRuleSet": {"JavaDeserializationRCE_BODY", "Log4JRCE_BODY", "ReactJSRCE_BODY"},
    "AWSManagedRulesAmazonIpReputationList": set(),
}


@pytest.fixture(scope="module")
def firewalled(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """An endpoint behind a firewall."""
    wanted = Wanted(certificate_arn=CERTIFICATE, firewall_requests_per_five_minutes=3000)
    return synthesize(tmp_path_factory.mktemp("firewalled"), wanted, {"Tanuki": route()})


@pytest.fixture(scope="module")
def rules(firewalled: Synthesized) -> dict[str, Any]:
    """The web ACL's rules by name."""
    return {rule["Name"]: rule for rule in firewalled.resource("WAFv2::WebACL")["Rules"]}


def refusal(firewalled: Synthesized, rule: dict[str, Any]) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Status, headers and error of a rule's own answer."""
    answer = rule["Action"]["Block"]["CustomResponse"]
    body = firewalled.resource("WAFv2::WebACL")["CustomResponseBodies"][answer["CustomResponseBodyKey"]]
    assert body["ContentType"] == "APPLICATION_JSON"
    headers = {header["Name"]: header["Value"] for header in answer.get("ResponseHeaders", [])}
    return answer["ResponseCode"], headers, json.loads(body["Content"])["error"]


def test_it_stands_before_the_load_balancer_of_its_region(firewalled: Synthesized) -> None:
    (balancer,) = firewalled.resources("ElasticLoadBalancingV2::LoadBalancer")
    (web_acl,) = firewalled.resources("WAFv2::WebACL")

    assert firewalled.resource("WAFv2::WebACL")["Scope"] == "REGIONAL"
    assert firewalled.resource("WAFv2::WebACLAssociation") == {
        "ResourceArn": {"Ref": balancer},
        "WebACLArn": {"Fn::GetAtt": [web_acl, "Arn"]},
    }


def test_a_flood_from_one_address_is_told_to_slow_down(firewalled: Synthesized, rules: dict[str, Any]) -> None:
    rate = rules["RateLimit"]["Statement"]["RateBasedStatement"]
    status, headers, error = refusal(firewalled, rules["RateLimit"])

    assert (rate["Limit"], rate["AggregateKeyType"], rate["EvaluationWindowSec"]) == (3000, "IP", 300)
    # OpenAI's clients wait for up to a minute by themselves.
    assert (status, 0 < int(headers["retry-after"]) <= 60) == (429, True)
    assert error["type"] == "rate_limit_error"


@pytest.mark.parametrize(("length", "refused"), [("0", False), ("9999999", False), ("10000000", True), ("7e9", False)])
def test_only_a_body_of_ten_megabytes_is_too_large(
    firewalled: Synthesized, rules: dict[str, Any], length: str, refused: bool
) -> None:
    statement = rules["TooLarge"]["Statement"]["RegexMatchStatement"]
    status, _, error = refusal(firewalled, rules["TooLarge"])

    assert statement["FieldToMatch"] == {"SingleHeader": {"Name": "content-length"}}
    assert bool(re.search(statement["RegexString"], length)) is refused
    assert (status, error["type"]) == (413, "invalid_request_error")


@pytest.mark.parametrize("group", BODY_RULES)
def test_rules_that_read_prompts_only_count(rules: dict[str, Any], group: str) -> None:
    statement = rules[group]["Statement"]["ManagedRuleGroupStatement"]
    overrides = {item["Name"]: item["ActionToUse"] for item in statement.get("RuleActionOverrides", [])}

    assert (statement["VendorName"], statement["Name"], rules[group]["OverrideAction"]) == ("AWS", group, {"None": {}})
    assert overrides == {rule: {"Count": {}} for rule in BODY_RULES[group]}


def test_rules_are_tried_in_order_and_measured(firewalled: Synthesized) -> None:
    web_acl = firewalled.resource("WAFv2::WebACL")

    assert [rule["Priority"] for rule in web_acl["Rules"]] == list(range(5))
    assert web_acl["DefaultAction"] == {"Allow": {}}
    for rule in web_acl["Rules"]:
        assert rule["VisibilityConfig"]["CloudWatchMetricsEnabled"] is True


def test_its_log_holds_what_was_refused_and_neither_tokens_nor_prompts(firewalled: Synthesized) -> None:
    logging = firewalled.resource("WAFv2::LoggingConfiguration")
    (group,) = firewalled.resources("Logs::LogGroup")
    protected = [
        (item["Field"]["FieldType"], item["Field"].get("FieldKeys"), item["Action"])
        for item in firewalled.resource("WAFv2::WebACL")["DataProtectionConfig"]["DataProtections"]
    ]

    assert protected == [("SINGLE_HEADER", ["authorization"], "SUBSTITUTION"), ("BODY", None, "SUBSTITUTION")]
    assert logging["RedactedFields"] == [{"SingleHeader": {"Name": "authorization"}}]
    assert firewalled.resource("Logs::LogGroup")["LogGroupName"] == "aws-waf-logs-endpoint"
    (destination,) = logging["LogDestinationConfigs"]
    assert destination["Fn::Join"][1] == ["arn:aws:logs:us-west-2:111122223333:log-group:", {"Ref": group}]
    assert logging["LoggingFilter"]["DefaultBehavior"] == "DROP"
    (kept,) = logging["LoggingFilter"]["Filters"]
    assert (kept["Behavior"], kept["Conditions"]) == ("KEEP", [{"ActionCondition": {"Action": "BLOCK"}}])
