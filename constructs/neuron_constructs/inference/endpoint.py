"""The load balancer in front of an engine: a short list of paths, and for the public TLS and authentication."""

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov

_NOT_FOUND = '{"error":{"message":"not found","type":"invalid_request_error"}}'
_NO_WAF = "Its body inspection ends at 8 KB and blocks long prompts; path list, TLS and authentication guard it."
_NO_DELETION_PROTECTION = "It holds no state: destroy must destroy it, and a deployment brings it back."
_PLAIN_HTTP = (
    "Internal endpoint without a certificate: plain HTTP inside the VPC, as the environment file asks; a public one "
    "without TLS is refused."
)


@dataclass(frozen=True, kw_only=True)
class JwtIssuer:
    """Whose JSON Web Tokens the load balancer accepts."""

    issuer: str
    """The `iss` claim."""

    jwks_endpoint: str
    """URL of the issuer's public keys."""


@dataclass(frozen=True, kw_only=True)
class EndpointProps:
    """Properties of an `Endpoint`."""

    vpc: ec2.IVpc
    """The VPC."""

    subnets: Sequence[ec2.ISubnet]
    """Subnets in two zones or more: public ones for an internet-facing endpoint, else private ones."""

    internet_facing: bool
    """Whether the endpoint has public addresses. Then it needs a certificate and an authentication."""

    allowed_cidrs: Sequence[str]
    """IPv4 ranges that may connect."""

    certificate_arn: str | None
    """ACM certificate; with it the endpoint speaks HTTPS only."""

    jwt_issuer: JwtIssuer | None
    """Whose tokens are needed; none leaves authentication to the engine or to the network."""

    idle_timeout_seconds: int
    """Seconds without a byte after which a connection is closed."""

    target_port: int
    """Port of the engine."""

    health_path: str
    """Path that answers 200 when the engine can serve."""

    paths: Sequence[str]
    """The only paths that are passed on, five at most."""

    deregistration_seconds: int
    """Seconds that a stopping target may finish its requests in."""

    access_log_bucket: s3.IBucket
    """Bucket for access logs."""


class Endpoint(Construct):
    """An Application Load Balancer that passes the engine's OpenAI paths on and answers 404 to everything else."""

    load_balancer: elbv2.ApplicationLoadBalancer
    target_group: elbv2.ApplicationTargetGroup
    security_group: ec2.SecurityGroup
    url: str

    def __init__(self, scope: Construct, id: str, props: EndpointProps) -> None:  # noqa: A002
        """Create the load balancer.

        Raises:
            ValueError: the endpoint would face the internet without TLS, or a token check without TLS.
        """
        if (props.internet_facing or props.jwt_issuer) and props.certificate_arn is None:
            raise ValueError("an internet-facing endpoint, or one that checks tokens, needs a certificate")
        super().__init__(scope, id)
        self.security_group = self._security_group(props)
        self.load_balancer = elbv2.ApplicationLoadBalancer(
            self,
            "LoadBalancer",
            vpc=props.vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=list(props.subnets)),
            internet_facing=props.internet_facing,
            security_group=self.security_group,
            # A long prefill sends no byte for minutes.
            idle_timeout=cdk.Duration.seconds(props.idle_timeout_seconds),
            drop_invalid_header_fields=True,
        )
        self.load_balancer.log_access_logs(props.access_log_bucket, "load-balancer")
        self.target_group = self._target_group(props)
        self._pass_on(self._listener(props), props)
        self.url = f"{'https' if props.certificate_arn else 'http'}://{self.load_balancer.load_balancer_dns_name}/v1"
        acknowledge(
            self.load_balancer,
            {
                "NIST.800.53.R5-ALBWAFEnabled": _NO_WAF,
                "NIST.800.53.R5-ELBDeletionProtectionEnabled": _NO_DELETION_PROTECTION,
            },
        )

    def _security_group(self, props: EndpointProps) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=props.vpc,
            description="Endpoint: clients in, engine out",
            allow_all_outbound=False,
        )
        port = ec2.Port.tcp(443 if props.certificate_arn else 80)
        for cidr in props.allowed_cidrs:
            group.add_ingress_rule(ec2.Peer.ipv4(cidr), port, "Clients")
        if "0.0.0.0/0" in props.allowed_cidrs:
            acknowledge(
                group,
                {"AwsSolutions-EC23": "Public as the environment file asks: TLS only, every request checked."},
            )
        return group

    def _target_group(self, props: EndpointProps) -> elbv2.ApplicationTargetGroup:
        return elbv2.ApplicationTargetGroup(
            self,
            "Targets",
            vpc=props.vpc,
            port=props.target_port,
            protocol=elbv2.ApplicationProtocol.HTTP,
            target_type=elbv2.TargetType.IP,
            # Requests differ a hundredfold in length: counting them in turn would load one host and idle another.
            load_balancing_algorithm_type=elbv2.TargetGroupLoadBalancingAlgorithmType.LEAST_OUTSTANDING_REQUESTS,
            deregistration_delay=cdk.Duration.seconds(props.deregistration_seconds),
            health_check=elbv2.HealthCheck(
                path=props.health_path,
                healthy_http_codes="200",
                interval=cdk.Duration.seconds(30),
                timeout=cdk.Duration.seconds(10),
                healthy_threshold_count=2,
                # A busy prefill may delay an answer; it must not cost the task its place.
                unhealthy_threshold_count=5,
            ),
        )

    def _listener(self, props: EndpointProps) -> elbv2.ApplicationListener:
        not_found = elbv2.ListenerAction.fixed_response(404, content_type="application/json", message_body=_NOT_FOUND)
        if props.certificate_arn is None:
            listener = self.load_balancer.add_listener(
                "Http", protocol=elbv2.ApplicationProtocol.HTTP, open=False, default_action=not_found
            )
            acknowledge(listener, {"NIST.800.53.R5-ELBv2ACMCertificateRequired": _PLAIN_HTTP})
            acknowledge(self.load_balancer, {"NIST.800.53.R5-ALBHttpToHttpsRedirection": _PLAIN_HTTP})
            skip_checkov(listener.node.default_child, {"CKV_AWS_2": _PLAIN_HTTP, "CKV_AWS_103": _PLAIN_HTTP})
            return listener
        return self.load_balancer.add_listener(
            "Https",
            protocol=elbv2.ApplicationProtocol.HTTPS,
            ssl_policy=elbv2.SslPolicy.RECOMMENDED_TLS,
            certificates=[acm.Certificate.from_certificate_arn(self, "Certificate", props.certificate_arn)],
            open=False,
            default_action=not_found,
        )

    def _pass_on(self, listener: elbv2.ApplicationListener, props: EndpointProps) -> None:
        forward = elbv2.ListenerAction.forward([self.target_group])
        if props.jwt_issuer:
            forward = elbv2.ListenerAction.authenticate_jwt(
                issuer=props.jwt_issuer.issuer, jwks_endpoint=props.jwt_issuer.jwks_endpoint, next=forward
            )
        listener.add_action(
            "OpenAiPaths",
            priority=10,
            conditions=[elbv2.ListenerCondition.path_patterns(list(props.paths))],
            action=forward,
        )
