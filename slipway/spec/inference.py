"""The `inference` section: an OpenAI-compatible endpoint on Inferentia2 hosts in Amazon ECS."""

from typing import Annotated, Literal

from pydantic import Field

from slipway.spec.section import Cidr, Form, Section

HttpsUrl = Annotated[str, Form(r"https://[^\s]+", "an https:// address", "https://login.example.com/")]
"""An address that is reached over TLS."""


class Model(Section):
    """The model that is served, compiled for Neuron: a fixed folder of the model bucket, or a name to roll out."""

    prefix: (
        Annotated[
            str,
            Form(
                r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*",
                "folder names of letters, digits, `.`, `_` and `-`, joined by single slashes",
                "tanuki-8b/v1",
            ),
        ]
        | None
    ) = None
    """Key prefix in the model bucket, without slashes at its ends, for example `tanuki-8b/v1`."""

    name: (
        Annotated[
            str,
            Form(
                r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?",
                "lower-case letters, digits, `.` and `-`, at most 63",
                "tanuki-8b",
            ),
        ]
        | None
    ) = None
    """The model's name, instead of a prefix: the version that `slipway roll-out` names is served, none before that."""


class JwtAuthentication(Section):
    """The load balancer checks a JSON Web Token (RS256) before a request reaches the model."""

    type: Literal["jwt"]
    """Always `jwt`."""

    issuer: HttpsUrl
    """The `iss` claim that a token must have."""

    jwks_endpoint: HttpsUrl
    """Where the issuer publishes its public keys."""


class ApiKeyAuthentication(Section):
    """The engine asks for `Authorization: Bearer <key>`; the key is a secret of the account."""

    type: Literal["api_key"]
    """Always `api_key`."""

    secret_arn: Annotated[
        str,
        Form(
            r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+",
            "the ARN of an AWS Secrets Manager secret",
            "arn:aws:secretsmanager:us-west-2:111122223333:secret:endpoint-key-AbCdEf",
        ),
    ]
    """ARN of the AWS Secrets Manager secret that holds the key as its plain text. The value never enters a template."""


class Endpoint(Section):
    """How clients reach the model."""

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
    """ARN of the AWS Certificate Manager certificate; with it the endpoint speaks HTTPS (TLS 1.2 and 1.3) only."""

    authentication: Annotated[JwtAuthentication | ApiKeyAuthentication, Field(discriminator="type")] | None = None
    """Who may ask. Required for a public endpoint."""

    allowed_cidrs: tuple[Cidr, ...] = ()
    """IPv4 ranges that may connect. Empty means the VPC for an internal endpoint and everyone for a public one."""

    idle_timeout_seconds: Annotated[int, Field(ge=60, le=4000)] = 900
    """Seconds without a byte after which the load balancer closes a connection. Long prompts need minutes."""


class Inference(Section):
    """The endpoint's engine, hosts and size."""

    engine: str = "tgi"
    """Inference engine; a row of the facts."""

    image: (
        Annotated[
            str,
            Form(
                r"[^\s@:/]+(:[0-9]+)?(/[^\s@:/]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})",
                "a container image with a tag or digest",
                "111122223333.dkr.ecr.us-west-2.amazonaws.com/tgi:3.3.5-neuron",
            ),
        ]
        | None
    ) = None
    """Container image with a tag or digest, instead of the engine's own, for example a copy in Amazon ECR."""

    instance_type: str = "inf2.xlarge"
    """EC2 instance type of the hosts. One task runs on each and has all of its Neuron devices."""

    model: Model | None = None
    """The model to serve. Without one the endpoint stands and answers 503."""

    desired_count: Annotated[int, Field(ge=0, le=100)] = 0
    """Tasks, and hosts, that serve the model. Leave 0 until its `prefix` is in the bucket; a `name` waits by itself."""

    max_count: Annotated[int, Field(ge=1, le=100)] = 1
    """Most hosts. One more than `desired_count` lets a new version start before the old one stops."""

    endpoint: Endpoint = Endpoint()
    """Who may reach the model, and how."""
