"""The gateway's token check accepts what AWS documents and nothing else."""

import time
from typing import Any

import pytest
from joserfc.jwk import KeySet, RSAKey

from tests.endpoint.gateway_template import JwtValidationConfig
from tests.endpoint.gateway_tokens import token_is_valid
from tests.endpoint.token_issuer import TokenIssuer

ISSUER = "https://login.example.com"


@pytest.fixture(scope="module")
def issuer() -> TokenIssuer:
    return TokenIssuer()


def check(**claim: Any) -> JwtValidationConfig:
    claims = [claim] if claim else []
    return JwtValidationConfig(issuer=ISSUER, jwks_endpoint=f"{ISSUER}/keys", additional_claims=claims)


def passes(issuer: TokenIssuer, config: JwtValidationConfig, **claims: Any) -> bool:
    return token_is_valid(f"Bearer {issuer.token({'iss': ISSUER} | claims)}", config, issuer.key_set())


def test_a_token_of_the_issuer_passes(issuer: TokenIssuer) -> None:
    assert passes(issuer, check())
    assert passes(issuer, check(), nbf=int(time.time()) - 5)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example.com"},
        {"iss": None},
        {"exp": None},
        {"exp": 1},
        {"exp": "never"},
        {"nbf": 4_000_000_000},
        {"iat": 4_000_000_000},
    ],
    ids=str,
)
def test_issuer_and_times_must_hold(issuer: TokenIssuer, claims: dict[str, Any]) -> None:
    assert not passes(issuer, check(), **claims)


@pytest.mark.parametrize(
    ("claim_format", "value", "expected"),
    [
        ("single-string", "a", True),
        ("single-string", "a b", False),
        ("single-string", ["a"], False),
        ("space-separated-values", "a", True),
        ("space-separated-values", "x a y", True),
        ("space-separated-values", "ab", False),
        ("space-separated-values", ["a"], False),
        ("string-array", ["x", "a"], True),
        ("string-array", "a", False),
        ("string-array", [], False),
        ("string-array", None, False),
    ],
)
def test_claims_have_a_format(issuer: TokenIssuer, claim_format: str, value: Any, expected: bool) -> None:
    assert passes(issuer, check(name="tenant", format=claim_format, values=["a", "z"]), tenant=value) is expected


def test_only_the_issuers_key_and_algorithm_count(issuer: TokenIssuer) -> None:
    other = RSAKey.generate_key(2048, {"kid": "first"})
    keys = issuer.key_set()
    for token in (
        issuer.token({"iss": ISSUER}, key=other),
        issuer.forged_token({"iss": ISSUER}, algorithm="HS256"),
        issuer.token({"iss": ISSUER}, algorithm="RS512"),
        issuer.forged_token({"iss": ISSUER}, algorithm="none"),
        issuer.token({"iss": ISSUER})[:-4] + "AAAA",
        "not-a-token",
        "",
    ):
        assert not token_is_valid(f"Bearer {token}", check(), keys)


def test_the_token_is_in_the_authorization_header(issuer: TokenIssuer) -> None:
    token, keys = issuer.token({"iss": ISSUER}), issuer.key_set()
    assert token_is_valid(f"bearer {token}", check(), keys)
    assert not token_is_valid(token, check(), keys)
    assert not token_is_valid(f"Basic {token}", check(), keys)
    assert not token_is_valid(None, check(), keys)


def test_keys_are_published_without_their_private_part(issuer: TokenIssuer) -> None:
    assert "d" not in issuer.key_set()["keys"][0]
    assert KeySet.import_key_set(issuer.key_set()).keys
