"""Whose JSON Web Tokens the load balancer accepts, and its action that checks them before a request goes on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from aws_cdk import aws_elasticloadbalancingv2 as elbv2


@dataclass(frozen=True, kw_only=True)
class TokenClaim:
    """A claim that a token must have, beside issuer and expiry."""

    name: str
    """The claim's name; not `iss`, `exp`, `nbf` or `iat`, which are always checked."""

    format: Literal["single-string", "string-array", "space-separated-values"]
    """How the issuer writes it: `"a"`, `["a", "b"]` or, as OAuth 2 writes `scope`, `"a b"`. Another form is refused."""

    values: Sequence[str]
    """What it must hold: one to ten values of at most 256 characters; in `space-separated-values` without spaces."""


@dataclass(frozen=True, kw_only=True)
class TokenCheck:
    """Whose JSON Web Tokens (RS256) the load balancer accepts. It checks signature, issuer and times by itself."""

    issuer: str
    """The `iss` claim; at most 256 characters."""

    jwks_endpoint: str
    """`https` URL of the issuer's public keys, reachable from the internet: at most 10 keys and 150 KB."""

    claims: Sequence[TokenClaim] = ()
    """What else a token must say, at most ten claims. Without one every token of the issuer passes."""

    def requiring(self, claims: Sequence[TokenClaim]) -> "TokenCheck":
        """Return the check with further claims, each in place of one with the same name."""
        named = {claim.name: claim for claim in (*self.claims, *claims)}
        return replace(self, claims=tuple(named.values()))


def check_token(check: TokenCheck, then: elbv2.ListenerAction) -> elbv2.ListenerAction:
    """Return the action that answers 401 to a request without a valid token, and hands others on.

    Args:
        check: whose tokens.
        then: what happens to a request with a valid token.
    """
    # ListenerAction.authenticate_jwt takes no claims: the L1 properties in the L2's own wrapper.
    return elbv2.ListenerAction(
        elbv2.CfnListener.ActionProperty(
            type="jwt-validation",
            jwt_validation_config=elbv2.CfnListener.JwtValidationConfigProperty(
                issuer=check.issuer,
                jwks_endpoint=check.jwks_endpoint,
                additional_claims=[
                    elbv2.CfnListener.JwtValidationActionAdditionalClaimProperty(
                        name=claim.name, format=claim.format, values=list(claim.values)
                    )
                    for claim in check.claims
                ]
                or None,
            ),
        ),
        then,
    )
