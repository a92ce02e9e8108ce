"""Listeners take only a certificate that the account holds; rules that check tokens and rewrite are kept as sent."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.emulator.running import REGION, RunningEmulator

_ARN = "arn:aws:acm:{}:111122223333:certificate/12345678-1234-1234-1234-123456789012"
HELD = _ARN.format(REGION)
ELSEWHERE = _ARN.format("us-east-1")


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEmulator]:
    options = [option for arn in (HELD, ELSEWHERE) for option in ("--certificate", arn)]
    running = RunningEmulator(tmp_path_factory.mktemp("account"), options)
    yield running
    assert running.stop() == 0


def endpoint(certificate_arn: str) -> dict[str, Any]:
    def subnet(cidr: str) -> dict[str, Any]:
        return {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": cidr}}

    return {
        "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/24"}},
        "One": subnet("10.0.0.0/25"),
        "Two": subnet("10.0.0.128/25"),
        "Balancer": {
            "Type": "AWS::ElasticLoadBalancingV2::LoadBalancer",
            "Properties": {"Type": "application", "Subnets": [{"Ref": "One"}, {"Ref": "Two"}]},
        },
        "Listener": {
            "Type": "AWS::ElasticLoadBalancingV2::Listener",
            "Properties": {
                "LoadBalancerArn": {"Ref": "Balancer"},
                "Port": 443,
                "Protocol": "HTTPS",
                "Certificates": [{"CertificateArn": certificate_arn}],
                "DefaultActions": [{"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "404"}}],
            },
        },
    }


def test_a_held_certificate_serves_a_listener(account: RunningEmulator) -> None:
    assert account.create("held", endpoint(HELD)) == "CREATE_COMPLETE", account.reasons("held")
    [listener] = account.client("elbv2").describe_listeners(
        LoadBalancerArn=account.physical_id("held", "Balancer"),
    )["Listeners"]
    assert listener["Certificates"] == [{"CertificateArn": HELD}]
    assert account.delete("held") == "DELETE_COMPLETE"


@pytest.mark.parametrize(
    ("name", "arn"), [("unknown", HELD.replace("12345678", "00000000")), ("other-region", ELSEWHERE)]
)
def test_any_other_certificate_is_refused(account: RunningEmulator, name: str, arn: str) -> None:
    assert account.create(name, endpoint(arn)) == "ROLLBACK_COMPLETE"
    assert "certificate was not found" in account.reasons(name)["Listener"]


def test_the_report_can_say_what_was_seeded(account: RunningEmulator) -> None:
    seeds = {entry["what"]: entry["why"] for entry in account.ledger(kind="seed")}
    assert "an environment file names it" in seeds[f"certificate {HELD}"]


def rule(prefix: str) -> dict[str, Any]:
    return {
        "Type": "AWS::ElasticLoadBalancingV2::ListenerRule",
        "Properties": {
            "ListenerArn": {"Ref": "Listener"},
            "Priority": 7,
            "Conditions": [{"Field": "path-pattern", "PathPatternConfig": {"Values": [f"/{prefix}/v1/models"]}}],
            "Transforms": [
                {
                    "Type": "url-rewrite",
                    "UrlRewriteConfig": {"Rewrites": [{"Regex": f"^/{prefix}(/v1/.*)$", "Replace": "$1"}]},
                }
            ],
            "Actions": [
                {
                    "Type": "jwt-validation",
                    "Order": 1,
                    "JwtValidationConfig": {
                        "Issuer": "https://login.example.com/",
                        "JwksEndpoint": "https://login.example.com/keys",
                    },
                },
                {"Type": "fixed-response", "Order": 2, "FixedResponseConfig": {"StatusCode": "200"}},
            ],
        },
    }


def test_a_rule_is_kept_as_it_was_sent(account: RunningEmulator) -> None:
    def described() -> Any:
        answer = account.client("elbv2").describe_rules(RuleArns=[account.physical_id("rules", "Rule")])
        return answer["Rules"][0]

    assert account.create("rules", {**endpoint(HELD), "Rule": rule("one")}) == "CREATE_COMPLETE"
    created, wanted = described(), rule("one")["Properties"]
    assert created["Transforms"] == wanted["Transforms"]
    assert [action["Type"] for action in created["Actions"]] == ["jwt-validation", "fixed-response"]
    assert created["Actions"][0]["JwtValidationConfig"] == wanted["Actions"][0]["JwtValidationConfig"]

    assert account.update("rules", {**endpoint(HELD), "Rule": rule("two")}) == "UPDATE_COMPLETE"
    assert described()["Transforms"] == rule("two")["Properties"]["Transforms"]
    assert account.delete("rules") == "DELETE_COMPLETE"
