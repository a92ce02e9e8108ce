"""The endpoint's load balancer: who may connect, TLS, its name, its logs."""

import json
from pathlib import Path

import aws_cdk as cdk
import pytest

from neuron_constructs.inference.endpoint import DnsRecord, TokenCheck
from tests.assembly import cdk_context
from tests.endpoint_stack import (
    CERTIFICATE,
    RECORD,
    TOKENS,
    Synthesized,
    Wanted,
    add_endpoint,
    endpoint_stack,
    route,
    synthesize,
)

INTERNAL = Wanted()
PUBLIC = Wanted(
    internet_facing=True,
    allowed_cidrs=("0.0.0.0/0",),
    certificate_arn=CERTIFICATE,
    dns_record=RECORD,
    tokens=TOKENS,
    idle_timeout_seconds=4000,
    deletion_protection=True,
)


@pytest.fixture(scope="module")
def internal(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """An endpoint for the VPC, without TLS."""
    return synthesize(tmp_path_factory.mktemp("internal"), INTERNAL, {"Tanuki": route()})


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """An endpoint for the internet, with everything but a firewall."""
    routes = {
        "Tanuki": route(host="tanuki.llm.example.com"),
        "Mistral": route("/mistral", "tanuki.llm.example.com"),
        "Llama": route("/llama", RECORD.name),
        "Qwen": route(host="qwen.example.org"),
    }
    return synthesize(tmp_path_factory.mktemp("public"), PUBLIC, routes)


def attributes(synthesized: Synthesized) -> dict[str, str]:
    """The load balancer's attributes."""
    items = synthesized.resource("ElasticLoadBalancingV2::LoadBalancer")["LoadBalancerAttributes"]
    return {item["Key"]: item["Value"] for item in items}


@pytest.mark.parametrize(
    ("internet_facing", "tokens"), [(True, None), (True, TOKENS), (False, TOKENS)], ids=["public", "both", "tokens"]
)
def test_neither_the_internet_nor_a_token_without_tls(internet_facing: bool, tokens: TokenCheck | None) -> None:
    stack = endpoint_stack(cdk.App(context=cdk_context()))

    with pytest.raises(ValueError, match="needs a certificate"):
        add_endpoint(stack, Wanted(internet_facing=internet_facing, tokens=tokens))


def test_an_internal_endpoint_is_open_to_its_ranges_and_speaks_http(internal: Synthesized) -> None:
    group = internal.resource("EC2::SecurityGroup")
    listener = internal.resource("ElasticLoadBalancingV2::Listener")

    assert internal.resource("ElasticLoadBalancingV2::LoadBalancer")["Scheme"] == "internal"
    assert [(rule["CidrIp"], rule["FromPort"]) for rule in group["SecurityGroupIngress"]] == [("10.0.0.0/16", 80)]
    # The CDK writes a rule that matches nothing where there is none.
    assert [rule["CidrIp"] for rule in group["SecurityGroupEgress"]] == ["255.255.255.255/32"]
    assert (listener["Protocol"], listener["Port"]) == ("HTTP", 80)
    assert internal.base_urls["Tanuki"]["Fn::Join"][1][0] == "http://"  # type: ignore[index]


def test_a_public_endpoint_speaks_tls_1_3_and_sends_http_there(public: Synthesized) -> None:
    group = public.resource("EC2::SecurityGroup")
    listeners = {item["Port"]: item for item in public.resources("ElasticLoadBalancingV2::Listener").values()}

    assert public.resource("ElasticLoadBalancingV2::LoadBalancer")["Scheme"] == "internet-facing"
    assert sorted(rule["FromPort"] for rule in group["SecurityGroupIngress"]) == [80, 443]
    assert listeners[443]["SslPolicy"] == "ELBSecurityPolicy-TLS13-1-2-Res-PQ-2025-09"
    assert listeners[443]["Certificates"] == [{"CertificateArn": CERTIFICATE}]
    (redirect,) = listeners[80]["DefaultActions"]
    assert redirect["RedirectConfig"] == {"Port": "443", "Protocol": "HTTPS", "StatusCode": "HTTP_301"}
    assert set(listeners) == {80, 443}


def test_both_ports_are_open_to_the_same_ranges_only(tmp_path: Path) -> None:
    ranges = ("10.0.0.0/16", "192.0.2.0/24")
    group = synthesize(tmp_path, Wanted(certificate_arn=CERTIFICATE, allowed_cidrs=ranges), {}).resource(
        "EC2::SecurityGroup"
    )

    assert {(rule["CidrIp"], rule["FromPort"], rule["ToPort"]) for rule in group["SecurityGroupIngress"]} == {
        (cidr, port, port) for cidr in ranges for port in (80, 443)
    }


def test_no_rule_hangs_on_the_listener_that_redirects(public: Synthesized) -> None:
    ports = {
        logical_id: item["Port"] for logical_id, item in public.resources("ElasticLoadBalancingV2::Listener").items()
    }

    assert {ports[rule["ListenerArn"]["Ref"]] for rule in public.rules()} == {443}


def test_the_load_balancer_reaches_the_issuer_of_tokens(public: Synthesized) -> None:
    (egress,) = public.resource("EC2::SecurityGroup")["SecurityGroupEgress"]

    assert (egress["CidrIp"], egress["FromPort"], egress["ToPort"]) == ("0.0.0.0/0", 443, 443)


@pytest.mark.parametrize("exposure", ["internal", "public"])
def test_everything_else_is_not_found_in_the_form_of_openai(exposure: str, request: pytest.FixtureRequest) -> None:
    synthesized: Synthesized = request.getfixturevalue(exposure)
    port = 443 if exposure == "public" else 80
    (listener,) = [
        item for item in synthesized.resources("ElasticLoadBalancingV2::Listener").values() if item["Port"] == port
    ]
    (action,) = listener["DefaultActions"]

    assert action["Type"] == "fixed-response"
    answer = action["FixedResponseConfig"]
    assert (answer["StatusCode"], answer["ContentType"]) == ("404", "application/json")
    assert set(json.loads(answer["MessageBody"])["error"]) >= {"message", "type"}


def test_connections_wait_for_long_prompts_and_are_logged(internal: Synthesized, public: Synthesized) -> None:
    assert attributes(internal)["idle_timeout.timeout_seconds"] == "900"
    assert attributes(public)["idle_timeout.timeout_seconds"] == "4000"
    for found in map(attributes, (internal, public)):
        assert found["access_logs.s3.enabled"] == found["connection_logs.s3.enabled"] == "true"
        assert found["access_logs.s3.prefix"] != found["connection_logs.s3.prefix"]
        assert found["routing.http.drop_invalid_header_fields.enabled"] == "true"
        assert found["routing.http.desync_mitigation_mode"] == "defensive"


def test_deletion_protection_is_what_was_asked_for(internal: Synthesized, public: Synthesized) -> None:
    assert attributes(internal)["deletion_protection.enabled"] == "false"
    assert attributes(public)["deletion_protection.enabled"] == "true"


def test_names_in_the_zone_lead_to_the_load_balancer_and_others_are_left_alone(public: Synthesized) -> None:
    records = {record["Name"]: record for record in public.resources("Route53::RecordSet").values()}
    (balancer,) = public.resources("ElasticLoadBalancingV2::LoadBalancer")

    assert set(records) == {"llm.example.com.", "tanuki.llm.example.com."}
    for record in records.values():
        assert (record["Type"], record["HostedZoneId"]) == ("A", RECORD.zone_id)
        assert balancer in str(record["AliasTarget"]["DNSName"])
    assert public.endpoint.url == "https://llm.example.com"


def test_a_record_at_the_top_of_its_zone(tmp_path: Path) -> None:
    record = DnsRecord(name="example.com", zone_name="example.com", zone_id=RECORD.zone_id)
    synthesized = synthesize(tmp_path, Wanted(certificate_arn=CERTIFICATE, dns_record=record), {"Tanuki": route()})

    assert synthesized.resource("Route53::RecordSet")["Name"] == "example.com."
    assert synthesized.base_urls == {"Tanuki": "https://example.com/v1"}


def test_without_a_record_there_is_none(internal: Synthesized) -> None:
    assert internal.resources("Route53::RecordSet") == {}
