"""Rules and notices about who may ask the endpoint: tokens, keys, and what they travel in."""

from collections.abc import Iterator

from slipway.config.endpoint import ApiKeyAuthentication, Claim, CognitoAuthentication, JwtAuthentication
from slipway.config.environment import Environment
from slipway.config.inference import ServedModel
from slipway.config.problems import Finding, Path, listed
from slipway.config.rules.arns import other_region
from slipway.config.rules.inference import MODELS, inference_of
from slipway.config.rules.registry import environment_notice, environment_rule, model_rule

_ENDPOINT = ("inference", "endpoint")
_AUTHENTICATION = (*_ENDPOINT, "authentication")
_CLAIMS = (*_AUTHENTICATION, "required_claims")

# ElasticLoadBalancingV2 API, JwtValidationActionAdditionalClaim: the load balancer checks these itself.
_CHECKED_ALWAYS = ("exp", "iat", "iss", "nbf")

# The same: AdditionalClaims has at most ten entries.
_MOST = 10

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
    for path, claim in _claims(environment):
        if claim.name in _CHECKED_ALWAYS:
            message = f"the load balancer checks {listed(_CHECKED_ALWAYS, 'and')} by itself (got {claim.name})"
            yield Finding((*path, "name"), message, "Remove this claim.")


@environment_rule
def claims_distinct(environment: Environment) -> Iterator[Finding]:
    """Each list of required claims names a claim once."""
    seen: set[Path] = set()
    for path, claim in _claims(environment):
        named = (*path[:-1], claim.name)
        if named in seen:
            message = f"{claim.name} appears twice"
            yield Finding((*path, "name"), message, "Write all its values in one place.")
        seen.add(named)


@environment_rule
def claim_words_without_spaces(environment: Environment) -> Iterator[Finding]:
    """Values of a claim that holds words separated by spaces have no spaces."""
    for path, claim in _claims(environment):
        for number, value in enumerate(claim.values):
            if claim.format == "space-separated-values" and " " in value:
                message = f"is more than one word (got '{value}')"
                yield Finding((*path, "values", number), message, "Write one word in each line.")


@model_rule
def model_claims_of_tokens(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """A model requires claims only where the endpoint checks tokens of an issuer (`type: jwt`), at most ten in all."""
    authentication = inference_of(environment).endpoint.authentication
    if not model.required_claims:
        return
    field = (*path, "required_claims")
    if not isinstance(authentication, JwtAuthentication):
        message = "the endpoint checks no token of an issuer"
        fix = "Add `authentication:` with `type: jwt` to the endpoint; `cognito` has a scope for each model by itself."
        yield Finding(field, message, fix)
    elif len(names := {claim.name for claim in (*authentication.required_claims, *model.required_claims)}) > _MOST:
        message = f"with those of the endpoint {len(names)} claims; the load balancer checks {_MOST}"
        yield Finding(field, message, "Require fewer claims.")


def _claims(environment: Environment) -> Iterator[tuple[Path, Claim]]:
    """Yield each required claim of the endpoint and of the models with its path."""
    inference = inference_of(environment)
    lists: dict[Path, tuple[Claim, ...]] = {
        (*MODELS, index, "required_claims"): model.required_claims for index, model in enumerate(inference.models)
    }
    if isinstance(inference.endpoint.authentication, JwtAuthentication):
        lists[_CLAIMS] = inference.endpoint.authentication.required_claims
    for path, claims in lists.items():
        yield from (((*path, index), claim) for index, claim in enumerate(claims))


@environment_rule
def secret_in_region(environment: Environment) -> Iterator[Finding]:
    """The API key's secret is in the environment's partition and Region."""
    authentication = inference_of(environment).endpoint.authentication
    if isinstance(authentication, ApiKeyAuthentication) and authentication.secret_arn is not None:
        path = (*_AUTHENTICATION, "secret_arn")
        fix = "Keep the secret there: ECS reads those of its own region by this ARN."
        yield from other_region(path, authentication.secret_arn, environment.region, fix)


def _takes_any_token(environment: Environment) -> JwtAuthentication | None:
    """Return the token check of an endpoint where a model is open to every token of the issuer."""
    inference = inference_of(environment)
    wanted = inference.endpoint.authentication
    if not isinstance(wanted, JwtAuthentication) or wanted.required_claims:
        return None
    return wanted if any(not model.required_claims for model in inference.models) else None


def _any_token(authentication: JwtAuthentication) -> str:
    return f"every token of {authentication.issuer} passes, also one that was given out for something else"


_ADD_CLAIMS = "Add `required_claims:`, for example `{name: aud, values: [endpoint]}`"


@environment_rule
def public_tokens_bound(environment: Environment) -> Iterator[Finding]:
    """A public endpoint requires claims of its tokens, or `any_token_because` says why not."""
    authentication = _takes_any_token(environment)
    public = inference_of(environment).endpoint.exposure == "public"
    if public and authentication and authentication.any_token_because is None:
        fix = f"{_ADD_CLAIMS}, or `any_token_because:` with the reason."
        yield Finding(_AUTHENTICATION, _any_token(authentication), fix, at_key=True)


@environment_rule
def any_token_or_claims(environment: Environment) -> Iterator[Finding]:
    """An endpoint that requires claims gives no reason for requiring none."""
    authentication = inference_of(environment).endpoint.authentication
    excused = isinstance(authentication, JwtAuthentication) and authentication.any_token_because is not None
    if excused and _takes_any_token(environment) is None:
        path = (*_AUTHENTICATION, "any_token_because")
        yield Finding(path, "the endpoint requires claims of its tokens", "Remove one of them.")


@environment_notice
def token_bound_to_endpoint(environment: Environment) -> Iterator[Finding]:
    """Every token of an issuer passes, also those that it gave out for something else."""
    authentication = _takes_any_token(environment)
    if authentication:
        because = f", because: {authentication.any_token_because}" if authentication.any_token_because else ""
        yield Finding(_AUTHENTICATION, f"{_any_token(authentication)}{because}", f"{_ADD_CLAIMS}.", at_key=True)


@environment_notice
def key_encrypted_on_its_way(environment: Environment) -> Iterator[Finding]:
    """An API key travels in clear text, because the endpoint has no certificate."""
    endpoint = inference_of(environment).endpoint
    if isinstance(endpoint.authentication, ApiKeyAuthentication) and endpoint.certificate_arn is None:
        message = "without a certificate the key travels in clear text, and who reads it can use it"
        yield Finding((*_AUTHENTICATION, "type"), message, "Add `certificate_arn:` to the endpoint.")
