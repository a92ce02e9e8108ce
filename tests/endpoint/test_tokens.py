"""Without a token that the issuer signed for this endpoint, no request reaches a model."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import openai
import pytest
from joserfc.jwk import RSAKey

from tests.endpoint.gateway_template import Forward, JwtValidation
from tests.endpoint.raw_requests import asked
from tests.endpoint.running_endpoint import RunningEndpoint
from tests.endpoint.served_models import CASES, Case

Endpoints = Callable[[str], RunningEndpoint]

WITH_TOKENS = ("public", "machines")
each_model_with_tokens = pytest.mark.parametrize(
    "case", [case for case in CASES if case.variant in WITH_TOKENS], ids=lambda case: f"{case.variant}-{case.name}"
)


def _refused(endpoint: RunningEndpoint) -> Iterator[tuple[str, str]]:
    """Tokens that are wrong in one way each."""
    claims = endpoint.valid_claims()
    yield "empty", ""
    yield "no token", "sk-0123456789"
    yield "expired", endpoint.token(exp=int(time.time()) - 60)
    yield "without expiry", endpoint.token(exp=None)
    yield "not yet valid", endpoint.token(nbf=int(time.time()) + 600)
    yield "another issuer", endpoint.token(iss="https://login.example.org")
    yield "without issuer", endpoint.token(iss=None)
    yield "another key", endpoint.issuer.token(claims, key=RSAKey.generate_key(2048, {"kid": "first"}))
    yield "another algorithm", endpoint.issuer.token(claims, algorithm="RS384")
    yield "no signature", endpoint.issuer.forged_token(claims, algorithm="none")
    yield "public key as secret", endpoint.issuer.forged_token(claims, algorithm="HS256")
    yield "another's signature", _with_signature_of(endpoint.token(), endpoint.token(nbf=1))
    for check in endpoint.token_checks():
        for claim in check.additional_claims:
            yield f"without {claim.name}", endpoint.token(**{claim.name: None})
            yield f"empty {claim.name}", endpoint.token(**{claim.name: ""})
            yield f"another {claim.name}", endpoint.token(**{claim.name: f"{claim.values[0]}x"})
            yield f"form of {claim.name}", endpoint.token(**{claim.name: {"value": claim.values[0]}})


def _with_signature_of(token: str, other: str) -> str:
    return f"{token.rpartition('.')[0]}.{other.rpartition('.')[2]}"


@each_model_with_tokens
def test_wrong_tokens_are_refused(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)
    reached = len(endpoint.reached(case.service))
    target, host = f"{case.model.route.path or ''}/v1/models", endpoint.host(case.name)
    with closing(endpoint.connection(443)) as connection:
        statuses = {
            what: asked(connection, "GET", target, {"Host": host, "Authorization": f"Bearer {token}"}).status
            for what, token in _refused(endpoint)
        }
    assert statuses == dict.fromkeys(statuses, 401)
    assert len(endpoint.reached(case.service)) == reached


@each_model_with_tokens
def test_the_client_says_authentication_error(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)
    client = endpoint.client(case.name, api_key=endpoint.token(exp=int(time.time()) - 60))
    with pytest.raises(openai.AuthenticationError):
        client.models.list()
    with pytest.raises(openai.AuthenticationError):
        client.chat.completions.create(
            model=endpoint.model_id(case.name), messages=[{"role": "user", "content": "?"}], stream=True
        )


@each_model_with_tokens
def test_no_request_without_a_header(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)
    target = f"{case.model.route.path or ''}/v1/models"
    headers = {"Host": endpoint.host(case.name)}
    assert endpoint.ask("GET", target, listener_port=443, headers=headers).status == 401
    in_address = f"{target}?access_token={endpoint.token()}"
    assert endpoint.ask("GET", in_address, listener_port=443, headers=headers).status == 401
    basic = {**headers, "Authorization": f"Basic {endpoint.token()}"}
    assert endpoint.ask("GET", target, listener_port=443, headers=basic).status == 401


@each_model_with_tokens
def test_a_token_for_one_model_opens_no_other(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)
    token = endpoint.issuer.token(endpoint.valid_claims(case.service))
    assert endpoint.client(case.name, api_key=token).models.list().data
    for other in (other for other in CASES if other.variant == case.variant and other.service != case.service):
        reached = len(endpoint.reached(other.service))
        with pytest.raises(openai.AuthenticationError):
            endpoint.client(other.name, api_key=token).chat.completions.create(
                model=endpoint.model_id(other.name), messages=[{"role": "user", "content": "?"}]
            )
        assert len(endpoint.reached(other.service)) == reached


@pytest.mark.parametrize("variant", WITH_TOKENS)
def test_every_way_to_a_model_has_the_same_check(endpoints: Endpoints, variant: str) -> None:
    endpoint = endpoints(variant)
    forwarding = [
        rule
        for listener_id in endpoint.balancer.listeners
        for rule in endpoint.balancer.rules(listener_id)
        if any(isinstance(action, Forward) for action in rule.actions)
    ]
    assert forwarding
    for rule in forwarding:
        assert isinstance(rule.actions[0], JwtValidation), f"rule {rule.priority} forwards without a check"
    for service in endpoint.containers:
        assert len({check.model_dump_json() for check in endpoint.token_checks(service)}) == 1


def test_every_wanted_value_of_a_claim_is_enough(endpoints: Endpoints) -> None:
    """AWS's documentation does not say whether one value or all are needed; see `gateway_tokens`."""
    endpoint = endpoints("public")
    (case, *_) = [case for case in CASES if case.variant == "public"]
    claims = {claim.name: claim for check in endpoint.token_checks(case.service) for claim in check.additional_claims}
    assert any(len(claim.values) > 1 for claim in claims.values())
    for claim in claims.values():
        for value in claim.values:
            own: Any = [value] if claim.format == "string-array" else value
            endpoint.client(case.name, api_key=endpoint.token(**{claim.name: own})).models.list()


def test_the_user_pools_client_gets_tokens_that_pass(endpoints: Endpoints) -> None:
    """Amazon Cognito writes the scopes that a client may ask for, separated by spaces, and the client's id."""
    endpoint = endpoints("machines")
    (case, *_) = [case for case in CASES if case.variant == "machines"]
    ((client_id, client),) = endpoint.values.resources("AWS::Cognito::UserPoolClient")
    ((pool_id, _),) = endpoint.values.resources("AWS::Cognito::UserPool")
    assert client["AllowedOAuthFlows"] == ["client_credentials"]
    issued = {
        "iss": f"https://cognito-idp.us-east-1.amazonaws.com/{pool_id}",
        "sub": client_id,
        "client_id": client_id,
        "token_use": "access",
        "version": 2,
        "scope": " ".join(client["AllowedOAuthScopes"]),
    }
    passing = endpoint.issuer.token(issued)
    assert endpoint.client(case.name, api_key=passing).models.list().data
    # An id token of the same pool has no scope.
    with pytest.raises(openai.AuthenticationError):
        endpoint.client(case.name, api_key=endpoint.issuer.token({**issued, "scope": None})).models.list()
