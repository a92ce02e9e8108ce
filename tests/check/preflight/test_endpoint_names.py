import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from slipway.check.preflight.answer import Answer
from slipway.check.preflight.checks.endpoint_names import covers
from slipway.check.preflight.needs import Needs
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.handmade import resources_of_stack, standing_stack
from tests.check.preflight.well_launches import in_days

ARN = "arn:aws:acm:us-west-2:111122223333:certificate/0a1b2c3d-0000-4000-8000-000000000000"
ZONE = "Z0123456789ABCDEFGHIJ"


def certificate(**changes: Any) -> Mapping[str, Any]:
    """Answer of acm.DescribeCertificate."""
    described = {"CertificateArn": ARN, "DomainName": "example.com", "Status": "ISSUED", "NotAfter": in_days(200)}
    return {"Certificate": {**described, "SubjectAlternativeNames": ["example.com", "*.example.com"], **changes}}


def zone(name: str) -> Mapping[str, Any]:
    """Answer of route53.GetHostedZone."""
    return {"HostedZone": {"Id": f"/hostedzone/{ZONE}", "Name": name, "CallerReference": "x"}}


def records(name: str, kind: str = "A") -> Mapping[str, Any]:
    """Answer of route53.ListResourceRecordSets: the record itself, or the one behind it in the zone."""
    found = [{"Name": name, "Type": kind}]
    return {"ResourceRecordSets": found, "IsTruncated": False, "MaxItems": "1"}


@pytest.fixture
def needs(needs_of: NeedsFactory) -> Needs:
    """An endpoint called llm.example.com."""
    return needs_of("public")


@pytest.fixture
def aws(aws: Aws) -> Aws:
    """The account, with the endpoint's certificate and hosted zone."""
    aws.replies |= {
        "acm.DescribeCertificate": certificate(),
        "route53.GetHostedZone": zone("example.com."),
        "route53.ListResourceRecordSets": records("www.example.com."),
    }
    return aws


def about(subject: str, answers: list[Answer]) -> Answer:
    (answer,) = [answer for answer in answers if subject in answer.subject]
    return answer


def test_a_certificate_and_a_zone_that_fit_pass(needs: Needs, aws: Aws, ask: Ask) -> None:
    answers = ask("PF15", needs, aws)
    assert {answer.status for answer in answers} == {"passed"}
    assert about(ARN, answers).message == "issued, covers llm.example.com"
    assert about(ZONE, answers).message == "it is example.com."


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"Status": "PENDING_VALIDATION"}, ("failed", "it is PENDING_VALIDATION", "DomainValidationOptions")),
        ({"Status": "EXPIRED"}, ("failed", "it is EXPIRED", "aws acm request-certificate")),
        (
            {"SubjectAlternativeNames": ["*.other.example.com"]},
            (
                "failed",
                "it covers example.com, *.other.example.com, but not llm.example.com",
                "aws acm request-certificate --region us-west-2 --domain-name llm.example.com --validation-method DNS",
            ),
        ),
        ({"NotAfter": in_days(5), "Type": "IMPORTED"}, ("warning", "not been renewed", "\naws acm import-certificate")),
        (
            # AWS would have done so weeks ago: the records that prove the domain are gone.
            {"NotAfter": in_days(5), "Type": "AMAZON_ISSUED", "RenewalEligibility": "ELIGIBLE"},
            ("warning", "has not been renewed", "DomainValidationOptions"),
        ),
    ],
)
def test_a_certificate_that_does_not_do_is_told(
    changes: dict[str, object], said: tuple[str, str, str], needs: Needs, aws: Aws, ask: Ask
) -> None:
    aws.replies["acm.DescribeCertificate"] = certificate(**changes)
    answer = about(ARN, ask("PF15", needs, aws))
    assert answer.status == said[0]
    assert said[1] in answer.message
    assert answer.fix is not None
    assert said[2] in answer.fix


def test_without_a_record_of_the_stack_the_certificates_own_names_are_told(
    needs_of: NeedsFactory, aws: Aws, ask: Ask
) -> None:
    account_region = needs_of("apikey")
    aws.replies["acm.DescribeCertificate"] = certificate()
    in_its_region = replace(
        account_region, stacks=tuple(replace(stack, template=moved(stack.template)) for stack in account_region.stacks)
    )
    answer = about(ARN, ask("PF15", in_its_region, aws))
    expected = "issued, for clients that call the endpoint example.com or *.example.com"
    assert (answer.status, answer.message) == ("passed", expected)


def moved(template: Mapping[str, Any]) -> Any:
    """Return a template with the certificate of the account's Region."""
    return json.loads(json.dumps(template).replace("acm:us-east-1", "acm:us-west-2"))


@pytest.mark.parametrize(("kind", "status"), [("A", "failed"), ("CNAME", "failed"), ("TXT", "passed")])
def test_a_record_of_somebody_else_fails(kind: str, status: str, needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["route53.ListResourceRecordSets"] = records("llm.example.com.", kind)
    answer = about("record llm.example.com", ask("PF15", needs, aws))
    assert answer.status == status
    asked = next(call.parameters for call in aws.calls if call.operation == "ListResourceRecordSets")
    assert asked == {
        "HostedZoneId": ZONE,
        "StartRecordName": "llm.example.com",
        "StartRecordType": "A",
        "MaxItems": "1",
    }


def test_the_record_of_our_own_stack_passes(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies |= {
        "route53.ListResourceRecordSets": records("llm.example.com."),
        "cloudformation.DescribeStacks": standing_stack("slipway-public-inference", environment="public"),
        "cloudformation.ListStackResources": resources_of_stack({"llm.example.com": "AWS::Route53::RecordSet"}),
    }
    assert about("record llm.example.com", ask("PF15", needs, aws)).status == "passed"


@pytest.mark.parametrize("code", ["AccessDenied", "Throttling"])
def test_records_that_nobody_tells_are_not_checked(code: str, needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["route53.ListResourceRecordSets"] = Refusal(code)
    answers = ask("PF15", needs, aws)
    assert [answer.status for answer in answers] == ["passed", "passed", "not_checked"]


def test_a_private_zone_of_a_public_endpoint_warns(needs: Needs, aws: Aws, ask: Ask) -> None:
    found = zone("example.com.")
    aws.replies["route53.GetHostedZone"] = {"HostedZone": {**found["HostedZone"], "Config": {"PrivateZone": True}}}
    answer = about(ZONE, ask("PF15", needs, aws))
    assert answer.status == "warning"
    assert "llm.example.com. cannot be resolved from the internet" in answer.message
    internal = [json.loads(json.dumps(s.template).replace("internet-facing", "internal")) for s in needs.stacks]
    stacks = tuple(replace(stack, template=text) for stack, text in zip(needs.stacks, internal, strict=True))
    answer = about(ZONE, ask("PF15", replace(needs, stacks=stacks), aws))
    assert (answer.status, answer.message) == ("passed", "it is the private zone example.com.")


def test_a_missing_certificate_fails(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["acm.DescribeCertificate"] = Refusal("ResourceNotFoundException")
    answer = about(ARN, ask("PF15", needs, aws))
    assert (answer.status, answer.message) == ("failed", "there is no such certificate")


def test_a_certificate_of_another_region_fails(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    """The account here is asked in us-west-2; the environment's certificate is in us-east-1."""
    answer = about("us-east-1", ask("PF15", needs_of("apikey"), aws))
    assert answer.status == "failed"
    assert "it is in us-east-1, but a load balancer takes certificates of its own Region us-west-2" in answer.message


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Refusal("NoSuchHostedZone"), "the account has no such hosted zone"),
        (zone("example.org."), "it is example.org., in which llm.example.com"),
    ],
)
def test_a_zone_that_does_not_do_fails(reply: Any, message: str, needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["route53.GetHostedZone"] = reply
    answer = about(ZONE, ask("PF15", needs, aws))
    assert answer.status == "failed"
    assert message in answer.message
    assert answer.fix is not None
    assert "--dns-name example.com" in answer.fix


@pytest.mark.parametrize(
    ("certified", "name", "covered"),
    [
        ("llm.example.com", "LLM.example.com.", True),
        ("*.example.com", "llm.example.com", True),
        ("*.example.com", "a.llm.example.com", False),
        ("*.example.com", "example.com", False),
        ("example.com", "llm.example.com", False),
    ],
)
def test_a_star_stands_for_one_label(certified: str, name: str, *, covered: bool) -> None:
    assert covers(certified, name) is covered


def test_an_endpoint_without_tls_asks_nothing(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    assert ask("PF15", needs_of("default"), aws) == []
    assert not aws.calls
