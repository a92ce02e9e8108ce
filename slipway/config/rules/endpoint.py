"""Rules and notices about where the endpoint can be reached from, and by which name."""

from collections.abc import Iterator

from slipway.config.environment import Environment
from slipway.config.problems import Finding
from slipway.config.ranges import PRIVATE_RANGES, parse_range, range_finding, too_wide
from slipway.config.rules.arns import other_region
from slipway.config.rules.inference import inference_of
from slipway.config.rules.registry import environment_notice, environment_rule

_ENDPOINT = ("inference", "endpoint")


@environment_rule
def public_endpoint_encrypted(environment: Environment) -> Iterator[Finding]:
    """A public endpoint has a certificate, so that it speaks HTTPS."""
    endpoint = inference_of(environment).endpoint
    if endpoint.exposure == "public" and endpoint.certificate_arn is None:
        fix = "Add `certificate_arn:` (AWS Certificate Manager), or write `internal`."
        yield Finding((*_ENDPOINT, "exposure"), "a public endpoint needs TLS", fix)


@environment_rule
def certificate_in_region(environment: Environment) -> Iterator[Finding]:
    """The certificate is in the environment's partition and Region."""
    arn = inference_of(environment).endpoint.certificate_arn
    if arn is not None:
        fix = "Request the certificate there: a load balancer uses those of its own region only."
        yield from other_region((*_ENDPOINT, "certificate_arn"), arn, environment.region, fix)


@environment_rule
def record_in_zone(environment: Environment) -> Iterator[Finding]:
    """The endpoint's own name is in its hosted zone."""
    record = inference_of(environment).endpoint.dns_record
    if record is not None and f".{record.name}".rpartition(f".{record.zone_name}")[2]:
        message = f"{record.name} is not in the zone {record.zone_name}"
        fix = f"Write a name such as llm.{record.zone_name}, or the zone that the name is in."
        yield Finding((*_ENDPOINT, "dns_record", "name"), message, fix)


@environment_notice
def name_covered_by_certificate(environment: Environment) -> Iterator[Finding]:
    """There is a certificate, and a model that clients reach by the load balancer's name, which none covers."""
    inference = inference_of(environment)
    endpoint = inference.endpoint
    by_other_name = [model.name for model in inference.models if model.route.host is None]
    if endpoint.certificate_arn is not None and endpoint.dns_record is None and by_other_name:
        message = f"clients of {by_other_name[0]} refuse the load balancer's own name: no certificate covers it"
        fix = "Add `dns_record:` with a name that it covers, or make such a record yourself."
        yield Finding((*_ENDPOINT, "certificate_arn"), message, fix)


@environment_rule
def public_endpoint_has_firewall(environment: Environment) -> Iterator[Finding]:
    """A public endpoint has a firewall, or `no_firewall_because` says why not."""
    endpoint = inference_of(environment).endpoint
    if endpoint.exposure == "public" and endpoint.firewall is None and endpoint.no_firewall_because is None:
        message = "a public endpoint without a firewall takes any number of requests from one address"
        fix = "Add `firewall: {requests_per_five_minutes: 2000}`, or `no_firewall_because:` with the reason."
        yield Finding((*_ENDPOINT, "exposure"), message, fix)


@environment_rule
def firewall_or_reason(environment: Environment) -> Iterator[Finding]:
    """An endpoint with a firewall gives no reason for having none."""
    endpoint = inference_of(environment).endpoint
    if endpoint.firewall is not None and endpoint.no_firewall_because is not None:
        yield Finding((*_ENDPOINT, "no_firewall_because"), "the endpoint has a firewall", "Remove one of them.")


@environment_notice
def firewall_left_out(environment: Environment) -> Iterator[Finding]:
    """A public endpoint has no firewall, for the reason that the file gives."""
    endpoint = inference_of(environment).endpoint
    if endpoint.exposure == "public" and endpoint.no_firewall_because is not None:
        message = f"a public endpoint without a firewall, because: {endpoint.no_firewall_because}"
        yield Finding((*_ENDPOINT, "no_firewall_because"), message, "Add `firewall: {}` when this no longer holds.")


@environment_rule
def allowed_ranges_valid(environment: Environment) -> Iterator[Finding]:
    """Each allowed range is an IPv4 range without host bits."""
    for index, text in enumerate(inference_of(environment).endpoint.allowed_cidrs):
        yield from range_finding((*_ENDPOINT, "allowed_cidrs", index), text)


@environment_rule
def allowed_ranges_distinct(environment: Environment) -> Iterator[Finding]:
    """Each allowed range is named once: EC2 refuses a security group that has a rule twice."""
    seen: set[str] = set()
    for index, text in enumerate(inference_of(environment).endpoint.allowed_cidrs):
        if text in seen:
            yield Finding((*_ENDPOINT, "allowed_cidrs", index), f"{text} appears twice", "Remove it.")
        seen.add(text)


@environment_rule
def everyone_only_authenticated(environment: Environment) -> Iterator[Finding]:
    """Without authentication the allowed ranges are, together too, neither 0.0.0.0/0 nor another one wider than /8."""
    endpoint = inference_of(environment).endpoint
    wide = too_wide(endpoint.allowed_cidrs)
    if endpoint.authentication is None and wide:
        strangers = "everyone" if wide[0].prefixlen == 0 else f"everyone in {wide[0]}"
        fix = "Name the networks that may connect, or add `authentication:`."
        yield Finding((*_ENDPOINT, "allowed_cidrs"), f"{strangers} may connect without authentication", fix)


@environment_rule
def public_endpoint_reachable(environment: Environment) -> Iterator[Finding]:
    """A public endpoint allows a range of the internet: no request from there has a private address."""
    endpoint = inference_of(environment).endpoint
    ranges = [parsed for text in endpoint.allowed_cidrs if (parsed := parse_range(text)) is not None]
    private = [any(allowed.subnet_of(private) for private in PRIVATE_RANGES) for allowed in ranges]
    if endpoint.exposure == "public" and private and all(private):
        message = "no client can connect: requests from the internet never come from private addresses"
        fix = "Write the public addresses of your networks, or `exposure: internal`."
        yield Finding((*_ENDPOINT, "allowed_cidrs"), message, fix)
