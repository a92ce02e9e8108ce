"""PF15: the endpoint's certificate is issued and covers its names, and the hosted zone of its record is there."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.deployed import DEPLOYED_ACTIONS, own_ids
from slipway.check.preflight.needs import Needs

_Answer = partial(Answer, check="PF15")

_SOON = timedelta(days=30)


@check(
    "PF15",
    "certificates and hosted zones",
    stage="existence",
    prevents="The load balancer gets no HTTPS listener, clients refuse its certificate, or its name is taken.",
    actions=(*DEPLOYED_ACTIONS, "acm:DescribeCertificate", "route53:GetHostedZone", "route53:ListResourceRecordSets"),
)
def endpoint_names(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look at each certificate that a listener names and at each hosted zone that a record is written into."""
    for stack, _, properties in needs.resources("AWS::ElasticLoadBalancingV2::Listener"):
        for certificate in properties.get("Certificates", []):
            arn = certificate["CertificateArn"]
            if isinstance(arn, str):
                answer = partial(_Answer, subject=arn, stacks=(stack.name,))
                yield from _certificate(arn, _names(needs, stack.name), answer, account)
    for stack, _, properties in needs.resources("AWS::Route53::RecordSet"):
        zone_id = properties.get("HostedZoneId")
        if isinstance(zone_id, str):
            answer = partial(_Answer, subject=f"hosted zone {zone_id}", stacks=(stack.name,))
            found = _hosted_zone(zone_id, properties["Name"], answer, account, public=_is_public(needs, stack.name))
            yield found
            if found.status != "failed":
                yield _record(properties, stack.name, needs, account)


def covers(certified: str, name: str) -> bool:
    """Return whether a name of a certificate covers a host name; `*` stands for one label (RFC 6125, 6.4.3)."""
    certified, name = certified.lower(), name.lower().rstrip(".")
    if certified.startswith("*."):
        return name.partition(".")[2] == certified[2:]
    return name == certified


def _names(needs: Needs, stack: str) -> list[str]:
    """Return the names that clients of the stack's load balancer use, as far as it has any of its own."""
    records = [
        properties["Name"] for owner, _, properties in needs.resources("AWS::Route53::RecordSet") if owner.name == stack
    ]
    hosts = [
        name
        for owner, _, properties in needs.resources("AWS::ElasticLoadBalancingV2::ListenerRule")
        if owner.name == stack
        for condition in properties["Conditions"]
        for name in condition.get("HostHeaderConfig", {}).get("Values", [])
    ]
    return [name.rstrip(".") for name in dict.fromkeys([*records, *hosts]) if isinstance(name, str)]


def _certificate(arn: str, names: list[str], answer: partial[Answer], account: Account) -> Iterator[Answer]:
    region = arn.split(":")[3]
    if region != account.region:
        yield answer(
            status="failed",
            message=f"it is in {region}, but a load balancer takes certificates of its own Region {account.region}",
            fix=_request(names, account.region),
        )
        return
    try:
        found = account.client("acm").describe_certificate(CertificateArn=arn)["Certificate"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        yield answer(status="failed", message="there is no such certificate", fix=_request(names, region))
        return
    yield from _judge(found, names, answer, region)


def _judge(found: dict[str, Any], names: list[str], answer: partial[Answer], region: str) -> Iterator[Answer]:
    if found["Status"] != "ISSUED":
        waits = found["Status"] == "PENDING_VALIDATION"
        yield answer(
            status="failed",
            message=f"it is {found['Status']}, not ISSUED",
            fix=_validation(found, region) if waits else _request(names, region),
        )
        return
    certified = list(dict.fromkeys([found["DomainName"], *found.get("SubjectAlternativeNames", [])]))
    bare = [name for name in names if not any(covers(known, name) for known in certified)]
    if bare:
        yield answer(
            status="failed",
            message=f"it covers {', '.join(certified)}, but not {', '.join(bare)}",
            fix=_request(names, region),
        )
        return
    until = found.get("NotAfter")
    if until and until < datetime.now(UTC) + _SOON:
        yield answer(
            status="warning",
            message=f"it ends on {until:%Y-%m-%d}, and has not been renewed",
            fix=_renewal(found, region),
        )
        return
    use = f"covers {', '.join(names)}" if names else f"for clients that call the endpoint {' or '.join(certified)}"
    yield answer(status="passed", message=f"issued, {use}")


def _validation(found: dict[str, Any], region: str) -> str:
    return (
        "write the DNS records that prove the domain, and wait:\n"
        f"aws acm describe-certificate --region {region} --certificate-arn {found['CertificateArn']} "
        "--query Certificate.DomainValidationOptions"
    )


def _renewal(found: dict[str, Any], region: str) -> str:
    """Return what renews a certificate: AWS its own, while they are used and the records stand."""
    if found.get("Type") != "IMPORTED":
        return _validation(found, region)
    return (
        "import the next certificate under the same ARN:\n"
        f"aws acm import-certificate --region {region} --certificate-arn {found['CertificateArn']} "
        "--certificate fileb://certificate.pem --private-key fileb://key.pem"
    )


def _request(names: list[str], region: str) -> str:
    first, *others = names or ["<name of the endpoint>"]
    more = f" --subject-alternative-names {' '.join(others)}" if others else ""
    return (
        f"aws acm request-certificate --region {region} --domain-name {first}{more} --validation-method DNS\n"
        "then write its ARN as certificate_arn"
    )


def _is_public(needs: Needs, stack: str) -> bool:
    return any(
        properties.get("Scheme") == "internet-facing"
        for owner, _, properties in needs.resources("AWS::ElasticLoadBalancingV2::LoadBalancer")
        if owner.name == stack
    )


def _hosted_zone(zone_id: str, name: str, answer: partial[Answer], account: Account, *, public: bool) -> Answer:
    domain = name.rstrip(".").partition(".")[2]
    fix = (
        "write a zone_id of this list:\naws route53 list-hosted-zones-by-name --dns-name "
        f"{domain} --query 'HostedZones[].[Id,Name,Config.PrivateZone]' --output table"
    )
    try:
        zone = account.client("route53").get_hosted_zone(Id=zone_id)["HostedZone"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchHostedZone":
            raise
        return answer(status="failed", message="the account has no such hosted zone", fix=fix)
    if not f".{name.rstrip('.')}".endswith(f".{zone['Name'].rstrip('.')}"):
        return answer(status="failed", message=f"it is {zone['Name']}, in which {name} cannot be", fix=fix)
    private = zone.get("Config", {}).get("PrivateZone", False)
    if private and public:
        # Some publish a load balancer for networks of their own alone, which ask their own resolver.
        message = f"it is the private zone {zone['Name']}: {name} cannot be resolved from the internet"
        return answer(status="warning", message=message, fix=fix)
    return answer(status="passed", message=f"it is {'the private zone ' if private else ''}{zone['Name']}")


def _record(record: Mapping[str, Any], stack: str, needs: Needs, account: Account) -> Answer:
    """Return whether a record is free, or the environment's own: CloudFormation creates none that is there.

    Route 53 refuses one beside a CNAME of the same name as well, and lists that first: a CNAME stands alone.
    """
    zone_id, name, kind = record["HostedZoneId"], record["Name"].rstrip("."), record["Type"]
    listed = account.client("route53").list_resource_record_sets(
        HostedZoneId=zone_id, StartRecordName=name, StartRecordType=kind, MaxItems="1"
    )["ResourceRecordSets"]
    there = any(found["Name"].rstrip(".") == name and found["Type"] in (kind, "CNAME") for found in listed)
    taken = there and name not in {own.rstrip(".") for own in own_ids(needs, account)}
    return _Answer(
        status="failed" if taken else "passed",
        subject=f"record {name} of type {kind}",
        message="it exists, and no stack of this environment has it" if taken else "it is free, or ours",
        fix="choose another name, or delete it if it is not needed:\n"
        f"aws route53 list-resource-record-sets --hosted-zone-id {zone_id} --start-record-name {name} "
        f"--start-record-type {kind} --max-items 1"
        if taken
        else None,
        stacks=(stack,),
    )
