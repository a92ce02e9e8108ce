"""Rules about who can reach the endpoint, and how."""

from collections.abc import Iterator
from ipaddress import IPv4Network, collapse_addresses

from slipway.spec.endpoint import ApiKeyAuthentication, JwtAuthentication
from slipway.spec.environment import Environment
from slipway.spec.problems import Finding
from slipway.spec.ranges import parse_range, range_finding
from slipway.spec.rules.arns import other_region
from slipway.spec.rules.inference import inference_of
from slipway.spec.rules.registry import environment_rule

_ENDPOINT = ("inference", "endpoint")
_EVERYONE = IPv4Network("0.0.0.0/0")


@environment_rule
def public_endpoint_encrypted(environment: Environment) -> Iterator[Finding]:
    """A public endpoint has a certificate, so that it speaks HTTPS."""
    endpoint = inference_of(environment).endpoint
    if endpoint.exposure == "public" and endpoint.certificate_arn is None:
        fix = "Add `certificate_arn:` (AWS Certificate Manager), or write `internal`."
        yield Finding((*_ENDPOINT, "exposure"), "a public endpoint needs TLS", fix)


@environment_rule
def public_endpoint_authenticated(environment: Environment) -> Iterator[Finding]:
    """A public endpoint has authentication."""
    endpoint = inference_of(environment).endpoint
    if endpoint.exposure == "public" and endpoint.authentication is None:
        fix = "Add `authentication:` with `type: jwt` or `type: api_key`, or write `internal`."
        yield Finding((*_ENDPOINT, "exposure"), "a public endpoint needs authentication", fix)


@environment_rule
def jwt_over_https(environment: Environment) -> Iterator[Finding]:
    """Tokens are checked on HTTPS only, so `type: jwt` needs a certificate."""
    endpoint = inference_of(environment).endpoint
    if isinstance(endpoint.authentication, JwtAuthentication) and endpoint.certificate_arn is None:
        message = "the load balancer checks tokens on HTTPS only"
        yield Finding((*_ENDPOINT, "authentication", "type"), message, "Add `certificate_arn:` to the endpoint.")


@environment_rule
def certificate_in_region(environment: Environment) -> Iterator[Finding]:
    """The certificate is in the environment's region."""
    arn = inference_of(environment).endpoint.certificate_arn
    if arn is not None:
        fix = "Request the certificate there: a load balancer uses those of its own region only."
        yield from other_region((*_ENDPOINT, "certificate_arn"), arn, environment.region, fix)


@environment_rule
def secret_in_region(environment: Environment) -> Iterator[Finding]:
    """The API key's secret is in the environment's region."""
    authentication = inference_of(environment).endpoint.authentication
    if isinstance(authentication, ApiKeyAuthentication) and authentication.secret_arn is not None:
        path = (*_ENDPOINT, "authentication", "secret_arn")
        fix = "Keep the secret there: ECS reads those of its own region by this ARN."
        yield from other_region(path, authentication.secret_arn, environment.region, fix)


@environment_rule
def allowed_ranges_valid(environment: Environment) -> Iterator[Finding]:
    """Each allowed range is an IPv4 range without host bits."""
    for index, text in enumerate(inference_of(environment).endpoint.allowed_cidrs):
        yield from range_finding((*_ENDPOINT, "allowed_cidrs", index), text)


@environment_rule
def everyone_only_authenticated(environment: Environment) -> Iterator[Finding]:
    """The allowed ranges together are not 0.0.0.0/0 unless the endpoint has authentication."""
    endpoint = inference_of(environment).endpoint
    ranges = [parsed for text in endpoint.allowed_cidrs if (parsed := parse_range(text)) is not None]
    if endpoint.authentication is None and list(collapse_addresses(ranges)) == [_EVERYONE]:
        fix = "Name the networks that may connect, or add `authentication:`."
        yield Finding((*_ENDPOINT, "allowed_cidrs"), "everyone may connect without authentication", fix)
