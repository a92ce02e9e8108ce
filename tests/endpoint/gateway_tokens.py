"""The load balancer's token check: RS256 signature, issuer, times, and the claims that a rule names."""

import time
from collections.abc import Mapping
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, KeySetSerialization

from tests.endpoint.gateway_template import AdditionalClaim, JwtValidationConfig


def token_is_valid(authorization: str | None, config: JwtValidationConfig, keys: KeySetSerialization) -> bool:
    """Return whether an `Authorization` header has a token that the check lets pass.

    Args:
        authorization: the header; None when there is no such header.
        config: the check.
        keys: the issuer's key set, as its JWKS endpoint answers.
    """
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer":
        return False
    try:
        claims = jwt.decode(token.strip(), KeySet.import_key_set(keys), algorithms=["RS256"]).claims
    except (JoseError, ValueError):
        return False
    return _times_hold(claims) and claims.get("iss") == config.issuer and _has_all(claims, config)


def _times_hold(claims: Mapping[str, Any]) -> bool:
    now = time.time()
    # Without an expiry a token is as good as expired.
    moments = [claims.get("exp", 0), claims.get("nbf", 0), claims.get("iat", 0)]
    if not all(isinstance(moment, int | float) for moment in moments):
        return False
    expiry, not_before, issued = moments
    return bool(now < expiry and not_before <= now and issued <= now)


def _has_all(claims: Mapping[str, Any], config: JwtValidationConfig) -> bool:
    return all(_has(claims.get(wanted.name), wanted) for wanted in config.additional_claims)


def _has(value: Any, wanted: AdditionalClaim) -> bool:
    """Return whether a claim has one of the wanted values.

    That one is enough, not all, is what Slipway's environment file promises; AWS's documentation leaves it open.
    """
    match wanted.format:
        case "single-string":
            found = [value] if isinstance(value, str) else []
        case "space-separated-values":
            found = value.split() if isinstance(value, str) else []
        case "string-array":
            found = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
    return bool(set(found) & set(wanted.values))
