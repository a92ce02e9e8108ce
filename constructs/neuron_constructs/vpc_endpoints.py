"""VPC endpoints: how machines of a VPC without a way to the internet reach AWS's services."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

_HTTPS = 443


@dataclass(frozen=True, kw_only=True)
class VpcEndpointsProps:
    """Properties of `VpcEndpoints`."""

    vpc: ec2.Vpc
    """The VPC. DNS names are on in it."""

    cidr: str
    """IPv4 range of the VPC, for example `10.40.0.0/16`: who may ask."""

    region: str
    """AWS Region of the VPC and the services."""

    interface: Mapping[str, Sequence[ec2.ISubnet]]
    """Services by what follows `com.amazonaws.REGION.` in their name, for example `ecr.dkr`, each with one subnet in
    each zone that it is asked from. An endpoint bills by hour and subnet."""

    dynamodb: bool
    """Whether Amazon DynamoDB is reached through a gateway endpoint, which costs nothing."""


class VpcEndpoints(Construct):
    """Interface endpoints that answer to the services' own names, and the gateway endpoint of DynamoDB.

    Whoever is in the VPC may ask each service, as far as the caller's own permissions go. Tables of other accounts
    cannot be reached. The gateway endpoint of S3 is a part of `Network`.
    """

    security_group: ec2.SecurityGroup
    """What the interface endpoints let in: HTTPS from the VPC."""

    def __init__(self, scope: Construct, id: str, props: VpcEndpointsProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.security_group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=props.vpc,
            description="VPC endpoints: HTTPS from the VPC, nothing out",
            allow_all_outbound=False,
        )
        self.security_group.add_ingress_rule(ec2.Peer.ipv4(props.cidr), ec2.Port.tcp(_HTTPS), "Who asks AWS's services")
        for service, subnets in props.interface.items():
            ec2.InterfaceVpcEndpoint(
                self,
                _name(service),
                vpc=props.vpc,
                service=ec2.InterfaceVpcEndpointService(f"com.amazonaws.{props.region}.{service}", _HTTPS),
                subnets=ec2.SubnetSelection(subnets=list(subnets)),
                security_groups=[self.security_group],
                # The rule above says who may ask.
                open=False,
                private_dns_enabled=True,
            )
        if props.dynamodb:
            endpoint = props.vpc.add_gateway_endpoint("DynamoDB", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
            own = {"StringEquals": {"aws:ResourceAccount": cdk.Aws.ACCOUNT_ID}}
            statement = iam.PolicyStatement(sid="Own", actions=["dynamodb:*"], resources=["*"], conditions=own)
            statement.add_principals(iam.StarPrincipal())
            endpoint.add_to_policy(statement)


def _name(service: str) -> str:
    """Return the construct id of a service's endpoint: `EcrDkr` for `ecr.dkr`."""
    return "".join(word.capitalize() for word in service.replace("-", ".").split("."))
