"""An endpoint in a stack of its own, for tests of its constructs without the rest of an environment."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3

from neuron_constructs.inference.endpoint import DnsRecord, Endpoint, EndpointProps, RouteProps, TokenCheck, TokenClaim
from neuron_constructs.inference.machine_clients import MachineClients, MachineClientsProps
from slipway import facts
from tests.assembly import cdk_context

ACCOUNT = "111122223333"
REGION = "us-west-2"
CERTIFICATE = f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/0a1b2c3d-0000-4000-8000-000000000000"
RECORD = DnsRecord(name="llm.example.com", zone_name="example.com", zone_id="Z0123456789ABCDEFGHIJ")
TOKENS = TokenCheck(
    issuer="https://login.example.com/",
    jwks_endpoint="https://login.example.com/keys",
    claims=[TokenClaim(name="aud", format="string-array", values=["llm"])],
)


@dataclass(frozen=True)
class Wanted:
    """What a test wants to differ from an internal endpoint without TLS."""

    internet_facing: bool = False
    allowed_cidrs: tuple[str, ...] = ("10.0.0.0/16",)
    certificate_arn: str | None = None
    dns_record: DnsRecord | None = None
    tokens: TokenCheck | None = None
    firewall_requests_per_five_minutes: int | None = None
    idle_timeout_seconds: int = 900
    deletion_protection: bool = False


@dataclass(frozen=True)
class Synthesized:
    """A synthesized stack with an endpoint."""

    endpoint: Endpoint
    base_urls: Mapping[str, str]
    template: Mapping[str, Any]
    directory: Path

    def resources(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """Properties of the resources of a type, by logical id."""
        return {
            logical_id: resource["Properties"]
            for logical_id, resource in self.template["Resources"].items()
            if resource["Type"] == f"AWS::{kind}"
        }

    def resource(self, kind: str) -> Mapping[str, Any]:
        """Properties of the only resource of a type."""
        (found,) = self.resources(kind).values()
        return found

    def rules(self) -> list[Mapping[str, Any]]:
        """The listener's rules in the order in which the load balancer tries them."""
        return sorted(
            self.resources("ElasticLoadBalancingV2::ListenerRule").values(), key=lambda rule: int(rule["Priority"])
        )


def route(
    path: str | None = None,
    host: str | None = None,
    *,
    engine: str = "tgi",
    candidate_weights: tuple[int, int] | None = None,
) -> RouteProps:
    """The route of a model."""
    return RouteProps(
        engine=facts.inference_engine(engine),
        path=path,
        host=host,
        candidate_weights=candidate_weights,
        has_proxy=False,
    )


def endpoint_stack(app: cdk.App) -> cdk.Stack:
    """An empty stack for an endpoint."""
    return cdk.Stack(app, "endpoint", env=cdk.Environment(account=ACCOUNT, region=REGION))


def add_endpoint(stack: cdk.Stack, wanted: Wanted) -> Endpoint:
    """Add an endpoint in a VPC and with a log bucket that belong to another owner."""
    zones = ("us-west-2a", "us-west-2b")
    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=list(zones))
    subnets = [
        ec2.Subnet.from_subnet_attributes(
            stack,
            zone,
            subnet_id=f"subnet-0123456789abcdef{number}",
            availability_zone=zone,
            route_table_id=f"rtb-0123456789abcdef{number}",
        )
        for number, zone in enumerate(zones)
    ]
    return Endpoint(
        stack,
        "Endpoint",
        EndpointProps(
            vpc=vpc,
            subnets=subnets,
            access_log_bucket=s3.Bucket.from_bucket_name(stack, "Logs", "access-logs"),
            log_retention=logs.RetentionDays.ONE_MONTH,
            **vars(wanted),
        ),
    )


def add_clients(stack: cdk.Stack, wanted: Wanted, *, token_minutes: int) -> Wanted:
    """Add clients in a user pool, and return what is wanted with the check of their tokens."""
    clients = MachineClients(
        stack,
        "Clients",
        MachineClientsProps(domain_prefix="slipway-test", token_minutes=token_minutes, models=["tanuki"]),
    )
    cdk.CfnOutput(stack, "TokenCommand", value=clients.token_command)
    return replace(wanted, tokens=clients.tokens)


def synthesize(
    directory: Path, wanted: Wanted, routes: Mapping[str, RouteProps], *, cognito_minutes: int | None = None
) -> Synthesized:
    """Synthesize a stack with an endpoint and the routes of models; with clients of a user pool, if so wished."""
    app = cdk.App(context=cdk_context(), outdir=str(directory))
    stack = endpoint_stack(app)
    if cognito_minutes:
        wanted = add_clients(stack, wanted, token_minutes=cognito_minutes)
    endpoint = add_endpoint(stack, wanted)
    base_urls = {name: endpoint.add_model(name, props).base_url for name, props in routes.items()}
    resolved = {name: stack.resolve(url) for name, url in base_urls.items()}
    app.synth()
    template = json.loads((directory / "endpoint.template.json").read_text())
    return Synthesized(endpoint, resolved, template, directory)
