"""Rules and notices about who may ask the endpoint: tokens, keys, and what they travel in."""

from collections.abc import Iterator

from slipway.spec.endpoint import ApiKeyAuthentication, CognitoAuthentication, JwtAuthentication
from slipway.spec.environment import Environment
from slipway.spec.problems import Finding, listed
from slipway.spec.rules.arns import other_region
from slipway.spec.rules.inference import inference_of
from slipway.spec.rules.registry import environment_notice, environment_rule

_ENDPOINT = ("inference", "endpoint")
_AUTHENTICATION = (*_ENDPOINT, "authentication")
_CLAIMS = (*_AUTHENTICATION, "required_claims")

# ElasticLoadBalancingV2 API, JwtValidationActionAdditionalClaim: the load balancer checks these itself.
_CHECKED_ALWAYS = ("exp", "iat", "iss", "nbf")

# Amazon Cognito developer guide, user pool domains: these words are kept; the environment's name is in the domain.
_KEPT_BY_COGNITO = ("amazon", "aws", "cognito")


@environment_rule
def public_endpoint_authenticated(environment: Environment) -> Iterator[Finding]:
    """A public endpoint has authentication."""
    endpoint = inference_of(environment).endpoint
    if endpoint.exposure == "public" and endpoint.authentication is None:
        fix = "Add `authentication:` with `type: jwt`, `cognito` or `api_key`, or write `internal`."
        yield Finding((*_ENDPOINT, "exposure"), "a public endpoint needs authentication", fix)


@environment_rule
def tokens_over_https(environment: Environment) -> Iterator[Finding]:
    """Tokens are checked on HTTPS only, so `type: jwt` and `type: cognito` need a certificate."""
    endpoint = inference_of(environment).endpoint
    tokens = isinstance(endpoint.authentication, JwtAuthentication | CognitoAuthentication)
    if tokens and endpoint.certificate_arn is None:
        message = "the load balancer checks tokens on HTTPS only"
        yield Finding((*_AUTHENTICATION, "type"), message, "Add `certificate_arn:` to the endpoint.")


@environment_rule
def name_for_cognito(environment: Environment) -> Iterator[Finding]:
    """With `type: cognito` the environment's name, which is in the user pool's domain, has no word that AWS keeps."""
    kept = [word for word in _KEPT_BY_COGNITO if word in environment.name]
    if isinstance(inference_of(environment).endpoint.authentication, CognitoAuthentication) and kept:
        message = f"Cognito refuses a domain with {listed(kept, 'and')} in it, and the name becomes part of the domain"
        yield Finding(("name",), message, "Write another name, or `type: jwt` with an issuer of your own.")


@environment_rule
def claims_not_checked_always(environment: Environment) -> Iterator[Finding]:
    """No required claim is one that the load balancer checks by itself: `exp`, `iat`, `iss`, `nbf`."""
    authentication = inference_of(environment).endpoint.authentication
    if isinstance(authentication, JwtAuthentication):
        for index, claim in enumerate(authentication.required_claims):
            if claim.name in _CHECKED_ALWAYS:
                message = f"the load balancer checks {listed(_CHECKED_ALWAYS, 'and')} by itself (got {claim.name})"
                yield Finding((*_CLAIMS, index, "name"), message, "Remove this claim.")


@environment_rule
def claims_distinct(environment: Environment) -> Iterator[Finding]:
    """Each required claim is named once."""
    authentication = inference_of(environment).endpoint.authentication
    seen: set[str] = set()
    if isinstance(authentication, JwtAuthentication):
        for index, claim in enumerate(authentication.required_claims):
            if claim.name in seen:
                message = f"{claim.name} appears twice"
                yield Finding((*_CLAIMS, index, "name"), message, "Write all its values in one place.")
            seen.add(claim.name)


@environment_rule
def claim_words_without_spaces(environment: Environment) -> Iterator[Finding]:
    """Values of a claim that holds words separated by spaces have no spaces."""
    authentication = inference_of(environment).endpoint.authentication
    if isinstance(authentication, JwtAuthentication):
        for index, claim in enumerate(authentication.required_claims):
            for number, value in enumerate(claim.values):
                if claim.format == "space-separated-values" and " " in value:
                    path = (*_CLAIMS, index, "values", number)
                    yield Finding(path, f"is more than one word (got '{value}')", "Write one word in each line.")


@environment_rule
def secret_in_region(environment: Environment) -> Iterator[Finding]:
    """The API key's secret is in the environment's partition and Region."""
    authentication = inference_of(environment).endpoint.authentication
    if isinstance(authentication, ApiKeyAuthentication) and authentication.secret_arn is not None:
        path = (*_AUTHENTICATION, "secret_arn")
        fix = "Keep the secret there: ECS reads those of its own region by this ARN."
        yield from other_region(path, authentication.secret_arn, environment.region, fix)


@environment_notice
def token_bound_to_endpoint(environment: Environment) -> Iterator[Finding]:
    """Every token of an issuer passes, also those that it gave out for something else."""
    authentication = inference_of(environment).endpoint.authentication
    if isinstance(authentication, JwtAuthentication) and not authentication.required_claims:
        message = f"every token of {authentication.issuer} passes, also one that was given out for something else"
        fix = "Add `required_claims:`, for example `{name: aud, values: [endpoint]}`."
        yield Finding(_AUTHENTICATION, message, fix, at_key=True)


@environment_notice
def key_encrypted_on_its_way(environment: Environment) -> Iterator[Finding]:
    """An API key travels in clear text, because the endpoint has no certificate."""
    endpoint = inference_of(environment).endpoint
    if isinstance(endpoint.authentication, ApiKeyAuthentication) and endpoint.certificate_arn is None:
        message = "without a certificate the key travels in clear text, and who reads it can use it"
        yield Finding((*_AUTHENTICATION, "type"), message, "Add `certificate_arn:` to the endpoint.")
