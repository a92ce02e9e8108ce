"""The rule cases of the endpoint: where it can be reached from, by which name, and by whom."""

from typing import Any

from tests.config.rule_cases import API_KEY, AUDIENCE, BOUND_JWT, CERTIFICATE, ENDPOINT, JWT, SAFE_PUBLIC, SECRET, Case
from tests.config.rule_cases_inference import FIRST, MODEL, RECORD

ENCRYPTED = {f"{ENDPOINT}.certificate_arn": CERTIFICATE}
COGNITO = {"type": "cognito"}

OTHER_CERTIFICATE = CERTIFICATE.replace("us-west-2", "us-east-1")
OTHER_SECRET = SECRET.replace("us-west-2", "us-east-1")


def claiming(*claims: dict[str, Any]) -> dict[str, Any]:
    """An endpoint whose tokens must have these claims."""
    return {**ENCRYPTED, f"{ENDPOINT}.authentication": {**JWT, "required_claims": list(claims)}}


PUBLIC_WITH_KEY = {**SAFE_PUBLIC, f"{ENDPOINT}.authentication": API_KEY}
PUBLIC_WITH_TOKENS = {**SAFE_PUBLIC, f"{ENDPOINT}.authentication": JWT}
WITHOUT_FIREWALL = {f"{ENDPOINT}.firewall": None}

ENDPOINT_CASES = [
    Case(
        "public-endpoint-has-firewall",
        {**PUBLIC_WITH_KEY, **WITHOUT_FIREWALL},
        "inference.endpoint.exposure",
        "a public endpoint without a firewall takes any number of requests from one address. Add `firewall:",
        {
            **PUBLIC_WITH_KEY,
            **WITHOUT_FIREWALL,
            f"{ENDPOINT}.no_firewall_because": "a firewall of our own is before it",
        },
    ),
    Case(
        "firewall-or-reason",
        {**PUBLIC_WITH_KEY, f"{ENDPOINT}.no_firewall_because": "only for the demo"},
        "inference.endpoint.no_firewall_because",
        "the endpoint has a firewall",
        {**PUBLIC_WITH_KEY, f"{ENDPOINT}.firewall": {}},
    ),
    Case(
        "public-endpoint-encrypted",
        {f"{ENDPOINT}.exposure": "public", f"{ENDPOINT}.authentication": API_KEY, f"{ENDPOINT}.firewall": {}},
        "inference.endpoint.exposure",
        "a public endpoint needs TLS",
        {**SAFE_PUBLIC, f"{ENDPOINT}.authentication": API_KEY},
    ),
    Case(
        "certificate-in-region",
        {f"{ENDPOINT}.certificate_arn": OTHER_CERTIFICATE},
        "inference.endpoint.certificate_arn",
        "the ARN is of us-east-1, the environment in 'us-west-2'",
        ENCRYPTED,
    ),
    Case(
        "certificate-in-region",
        {f"{ENDPOINT}.certificate_arn": CERTIFICATE.replace("arn:aws:", "arn:aws-cn:")},
        "inference.endpoint.certificate_arn",
        "the ARN is of the partition aws-cn, us-west-2 is in aws. Write arn:aws:acm:...",
        ENCRYPTED,
    ),
    Case(
        "record-in-zone",
        {f"{ENDPOINT}.dns_record": {**RECORD, "name": "llm-example.com"}},
        "inference.endpoint.dns_record.name",
        "llm-example.com is not in the zone example.com. Write a name such as llm.example.com",
        {f"{ENDPOINT}.dns_record": {**RECORD, "name": "example.com"}},
    ),
    Case(
        "allowed-ranges-valid",
        {f"{ENDPOINT}.allowed_cidrs": ["10.0.0.0/8", "192.168.1.1/24"]},
        "inference.endpoint.allowed_cidrs[1]",
        "names a host inside a range. Write 192.168.1.0/24.",
        {f"{ENDPOINT}.allowed_cidrs": ["10.0.0.0/8", "192.168.1.1/32"]},
    ),
    Case(
        "allowed-ranges-distinct",
        {f"{ENDPOINT}.allowed_cidrs": ["10.0.0.0/8", "192.168.1.0/24", "10.0.0.0/8"]},
        "inference.endpoint.allowed_cidrs[2]",
        "10.0.0.0/8 appears twice. Remove it.",
        {f"{ENDPOINT}.allowed_cidrs": ["10.0.0.0/8", "192.168.1.0/24", "10.0.0.0/9"]},
    ),
    Case(
        "everyone-only-authenticated",
        {f"{ENDPOINT}.allowed_cidrs": ["0.0.0.0/1", "128.0.0.0/1"]},
        "inference.endpoint.allowed_cidrs",
        "everyone may connect without authentication",
        {f"{ENDPOINT}.allowed_cidrs": ["0.0.0.0/0"], f"{ENDPOINT}.authentication": API_KEY},
    ),
    Case(
        "everyone-only-authenticated",
        {f"{ENDPOINT}.allowed_cidrs": ["10.0.0.0/8", "128.0.0.0/1"]},
        "inference.endpoint.allowed_cidrs",
        "everyone in 128.0.0.0/1 may connect without authentication",
        {f"{ENDPOINT}.allowed_cidrs": ["10.0.0.0/8", "128.0.0.0/8"]},
    ),
    Case(
        "public-endpoint-reachable",
        {
            **SAFE_PUBLIC,
            f"{ENDPOINT}.authentication": API_KEY,
            f"{ENDPOINT}.allowed_cidrs": ["10.0.0.0/8", "192.168.1.0/24"],
        },
        "inference.endpoint.allowed_cidrs",
        "no client can connect: requests from the internet never come from private addresses",
        {
            **SAFE_PUBLIC,
            f"{ENDPOINT}.authentication": API_KEY,
            f"{ENDPOINT}.allowed_cidrs": ["10.0.0.0/8", "203.0.113.0/24"],
        },
    ),
]

AUTHENTICATION = [
    Case(
        "public-tokens-bound",
        PUBLIC_WITH_TOKENS,
        "inference.endpoint.authentication",
        "every token of https://login.example.com/ passes, also one that was given out for something else",
        {
            **SAFE_PUBLIC,
            f"{ENDPOINT}.authentication": {**JWT, "any_token_because": "the issuer serves this endpoint alone"},
        },
    ),
    Case(
        "public-tokens-bound",
        PUBLIC_WITH_TOKENS,
        "inference.endpoint.authentication",
        "or `any_token_because:` with the reason",
        {**PUBLIC_WITH_TOKENS, f"{MODEL}.required_claims": [AUDIENCE]},
    ),
    Case(
        "any-token-or-claims",
        {**ENCRYPTED, f"{ENDPOINT}.authentication": {**BOUND_JWT, "any_token_because": "demo"}},
        "inference.endpoint.authentication.any_token_because",
        "the endpoint requires claims of its tokens",
        {**ENCRYPTED, f"{ENDPOINT}.authentication": {**JWT, "any_token_because": "demo"}},
    ),
    Case(
        "model-claims-of-tokens",
        {**ENCRYPTED, f"{ENDPOINT}.authentication": COGNITO, f"{MODEL}.required_claims": [AUDIENCE]},
        f"{FIRST}.required_claims",
        "`cognito` has a scope for each model by itself",
        {**claiming(AUDIENCE), f"{MODEL}.required_claims": [AUDIENCE]},
    ),
    Case(
        "model-claims-of-tokens",
        {
            **claiming(AUDIENCE),
            f"{MODEL}.required_claims": [{"name": f"c{number}", "values": ["a"]} for number in range(10)],
        },
        f"{FIRST}.required_claims",
        "with those of the endpoint 11 claims; the load balancer checks 10",
        {
            **claiming(AUDIENCE),
            f"{MODEL}.required_claims": [{"name": f"c{number}", "values": ["a"]} for number in range(9)],
        },
    ),
    Case(
        "claims-distinct",
        {**claiming(AUDIENCE), f"{MODEL}.required_claims": [AUDIENCE, {"name": "aud", "values": ["batch"]}]},
        f"{FIRST}.required_claims[1].name",
        "aud appears twice",
        {**claiming(AUDIENCE), f"{MODEL}.required_claims": [AUDIENCE]},
    ),
    Case(
        "public-endpoint-authenticated",
        SAFE_PUBLIC,
        "inference.endpoint.exposure",
        "a public endpoint needs authentication",
        {**SAFE_PUBLIC, f"{ENDPOINT}.authentication": BOUND_JWT},
    ),
    Case(
        "tokens-over-https",
        {f"{ENDPOINT}.authentication": JWT},
        "inference.endpoint.authentication.type",
        "the load balancer checks tokens on HTTPS only",
        {f"{ENDPOINT}.authentication": API_KEY},
    ),
    Case(
        "tokens-over-https",
        {f"{ENDPOINT}.authentication": COGNITO},
        "inference.endpoint.authentication.type",
        "Add `certificate_arn:` to the endpoint.",
        {**ENCRYPTED, f"{ENDPOINT}.authentication": COGNITO},
    ),
    Case(
        "name-for-cognito",
        {"name": "my-aws-test", **ENCRYPTED, f"{ENDPOINT}.authentication": COGNITO},
        "name",
        "Cognito refuses a domain with aws in it, and the name becomes part of the domain",
        {"name": "my-aws-test", **ENCRYPTED, f"{ENDPOINT}.authentication": JWT},
    ),
    Case(
        "claims-not-checked-always",
        claiming(AUDIENCE, {"name": "iss", "values": ["me"]}),
        "inference.endpoint.authentication.required_claims[1].name",
        "the load balancer checks exp, iat, iss and nbf by itself (got iss)",
        claiming(AUDIENCE, {"name": "sub", "values": ["me"]}),
    ),
    Case(
        "claims-distinct",
        claiming(AUDIENCE, {"name": "aud", "values": ["batch"]}),
        "inference.endpoint.authentication.required_claims[1].name",
        "aud appears twice",
        claiming({**AUDIENCE, "values": ["endpoint", "batch"]}),
    ),
    Case(
        "claim-words-without-spaces",
        claiming({"name": "scope", "values": ["read", "ask answer"], "format": "space-separated-values"}),
        "inference.endpoint.authentication.required_claims[0].values[1]",
        "is more than one word (got 'ask answer')",
        claiming({"name": "group", "values": ["ask answer"]}),
    ),
    Case(
        "secret-in-region",
        {f"{ENDPOINT}.authentication": {**API_KEY, "secret_arn": OTHER_SECRET}},
        "inference.endpoint.authentication.secret_arn",
        "the ARN is of us-east-1, the environment in 'us-west-2'",
        {f"{ENDPOINT}.authentication": {"type": "api_key"}},
    ),
]
