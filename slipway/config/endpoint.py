"""How clients reach the models: exposure, TLS, authentication, firewall."""

from typing import Annotated, Literal

from pydantic import Field

from slipway.config.section import HOST_NAME_PATTERN, Because, Cidr, Form, Section

HttpsUrl = Annotated[
    str,
    # The characters of RFC 3986, without user and fragment.
    Form(
        r"https://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?"
        r"(/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?",
        "an https:// address of at most 256 characters",
        "https://login.example.com/",
        longest=256,
    ),
]
"""An address that is reached over TLS; the load balancer takes 256 characters."""


class Claim(Section):
    """A claim that a token must have, beside issuer and expiry."""

    name: Annotated[str, Form(r"[A-Za-z0-9_.:/-]{1,64}", "a claim's name", "aud")]
    """The claim's name."""

    values: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=256)], ...], Field(min_length=1, max_length=10)
    ]
    """Values of which it must have one."""

    format: Literal["single-string", "string-array", "space-separated-values"] = "single-string"
    """How a token holds the claim: as one text, as a list of texts, or (`scope` of OAuth 2.0) as words in one text."""


class JwtAuthentication(Section):
    """The load balancer checks a JSON Web Token (RS256) before a request reaches a model."""

    type: Literal["jwt"]
    """Always `jwt`."""

    issuer: HttpsUrl
    """The `iss` claim that a token must have."""

    jwks_endpoint: HttpsUrl
    """Where the issuer publishes its public keys."""

    required_claims: Annotated[tuple[Claim, ...], Field(max_length=10)] = ()
    """Further claims that a token must have. Without one every token of the issuer passes, also one that it gave out
    for something else; a public endpoint is then refused, unless `any_token_because` says why."""

    any_token_because: Because | None = None
    """Why every token of the issuer may pass. Each synth and `slipway plan` repeat it."""


class CognitoAuthentication(Section):
    """As `jwt`, with an issuer that the stack makes: an Amazon Cognito user pool for machines (client credentials)."""

    type: Literal["cognito"]
    """Always `cognito`."""

    token_minutes: Annotated[int, Field(ge=5, le=1440)] = 60
    """Minutes for which a token is valid."""


class ApiKeyAuthentication(Section):
    """Tasks ask for `Authorization: Bearer <key>` and take TLS alone; the keys are a secret of the account."""

    type: Literal["api_key"]
    """Always `api_key`."""

    secret_arn: (
        Annotated[
            str,
            Form(
                r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+",
                "the ARN of an AWS Secrets Manager secret",
                "arn:aws:secretsmanager:us-west-2:111122223333:secret:endpoint-key-AbCdEf",
            ),
        ]
        | None
    ) = None
    """ARN of the AWS Secrets Manager secret that holds the key as its plain text, of letters, digits and `-._~+/=`.
    Left out, the stack makes one. `slipway rotate-key` writes into it, with a comma between keys that are valid. The
    value never enters a template."""


class DnsRecord(Section):
    """An alias record for the load balancer in a public or private hosted zone of Amazon Route 53."""

    name: Annotated[
        str,
        Form(HOST_NAME_PATTERN, "a host name in lower case", "llm.example.com", longest=253),
    ]
    """Name of the endpoint; the certificate must cover it."""

    zone_name: Annotated[str, Form(HOST_NAME_PATTERN, "a domain name in lower case", "example.com", longest=253)]
    """Name of the hosted zone, in which the name is."""

    zone_id: Annotated[str, Form(r"Z[A-Z0-9]{5,31}", "the id of a hosted zone", "Z0123456789ABCDEFGHIJ")]
    """Id of the hosted zone."""


class Firewall(Section):
    """AWS WAF before the load balancer: a rate limit, and AWS's rules adapted to long prompts."""

    requests_per_five_minutes: Annotated[int, Field(ge=10, le=2_000_000)] = 2000
    """Requests from one IPv4 address in five minutes, above which it is refused until it slows down."""


class Endpoint(Section):
    """How clients reach the models."""

    exposure: Literal["internal", "public"] = "internal"
    """`internal`: for the VPC and networks joined to it. `public`: for the internet, with TLS and authentication."""

    certificate_arn: (
        Annotated[
            str,
            Form(
                r"arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+",
                "the ARN of an AWS Certificate Manager certificate",
                "arn:aws:acm:us-west-2:111122223333:certificate/12345678-1234-1234-1234-123456789012",
            ),
        ]
        | None
    ) = None
    """ARN of the AWS Certificate Manager certificate; with it the endpoint speaks HTTPS (TLS 1.2 and 1.3), and port 80
    only sends clients there."""

    dns_record: DnsRecord | None = None
    """The endpoint's own name. Without it clients use the load balancer's, which no certificate covers."""

    authentication: (
        Annotated[JwtAuthentication | CognitoAuthentication | ApiKeyAuthentication, Field(discriminator="type")] | None
    ) = None
    """Who may ask. Required for a public endpoint."""

    allowed_cidrs: Annotated[tuple[Cidr, ...], Field(max_length=30)] = ()
    """IPv4 ranges that may connect. Empty means the VPC for an internal endpoint and everyone for a public one. Each
    takes two of a security group's 60 rules."""

    firewall: Firewall | None = None
    """A web application firewall. It costs about 10 USD a month and 0.60 USD for a million requests. A public endpoint
    without one is refused, unless `no_firewall_because` says why."""

    no_firewall_because: Because | None = None
    """Why a public endpoint has no firewall. Each synth and `slipway plan` repeat it."""

    idle_timeout_seconds: Annotated[int, Field(ge=120, le=4000)] = 900
    """Seconds without a byte after which the load balancer closes a connection. Long prompts need minutes.

    The alarm for slow answers fires above 60 s, so connections must live longer than that.
    """

    deletion_protection: bool = False
    """Refuse to delete the load balancer until somebody takes the protection off: its name stays in clients."""
