"""The load balancer in front of the models: who may connect, TLS, its name, its firewall, its logs."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_logs as logs
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_route53_targets as targets
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov
from neuron_constructs.inference.firewall import Firewall, FirewallProps
from neuron_constructs.inference.model_route import Listening, ModelRoute, RouteProps
from neuron_constructs.inference.token_check import TokenCheck, TokenClaim

__all__ = ["DnsRecord", "Endpoint", "EndpointProps", "ModelRoute", "RouteProps", "TokenCheck", "TokenClaim"]

_NOT_FOUND = json.dumps({"error": {"message": "not found", "type": "invalid_request_error"}})

_NO_WAF = "The environment file asks for no firewall: path list, TLS, authentication and address ranges guard it."
_NO_DELETION_PROTECTION = "It holds no state: destroy must destroy it, and a deployment brings it back."
_OPEN = "Open to everyone as the environment file asks; facing the internet it speaks TLS and needs an authentication."
_ONLY_REDIRECTS = "This listener only redirects to the one that speaks TLS, and answers nothing itself."
_PLAIN_HTTP = (
    "Internal endpoint without a certificate: plain HTTP inside the VPC, as the environment file asks; a public one "
    "without TLS is refused."
)

_PRIORITY_SLOTS = 2000
_RULES_OF_A_MODEL = 10
_FIRST_PRIORITY = 1
_FIRST_PRIORITY_WITHOUT_HOST = 25_001


@dataclass(frozen=True, kw_only=True)
class DnsRecord:
    """The endpoint's own name, an alias record in a hosted zone of Amazon Route 53."""

    name: str
    """Full name, which the certificate must cover."""

    zone_name: str
    """Name of the hosted zone."""

    zone_id: str
    """Id of the hosted zone."""


@dataclass(frozen=True, kw_only=True)
class EndpointProps:
    """Properties of an `Endpoint`."""

    vpc: ec2.IVpc
    """The VPC."""

    subnets: Sequence[ec2.ISubnet]
    """Subnets in two zones or more: public ones for an internet-facing endpoint, else private ones."""

    internet_facing: bool = False
    """Whether the endpoint has public addresses. Then it needs a certificate, and its clients an authentication."""

    allowed_cidrs: Sequence[str]
    """IPv4 ranges that may connect."""

    certificate_arn: str | None
    """ACM certificate; with it the endpoint speaks HTTPS, and port 80 only sends clients there."""

    dns_record: DnsRecord | None = None
    """Its own name; none for the load balancer's."""

    tokens: TokenCheck | None = None
    """Whose tokens every request needs; none leaves authentication to the engine or to the network."""

    firewall_requests_per_five_minutes: int | None = None
    """Rate limit of a web application firewall for one address; none for no firewall."""

    idle_timeout_seconds: int
    """Seconds without a byte after which a connection is closed: 1 to 4000."""

    deletion_protection: bool = False
    """Whether the load balancer refuses to be deleted until somebody switches that off."""

    access_log_bucket: s3.IBucket
    """Bucket for access and connection logs."""

    log_retention: logs.RetentionDays
    """How long the firewall's log is kept."""


class Endpoint(Construct):
    """An Application Load Balancer that passes the models' OpenAI paths on and answers 404 to everything else."""

    load_balancer: elbv2.ApplicationLoadBalancer
    security_group: ec2.SecurityGroup
    url: str
    firewall: Firewall | None

    def __init__(self, scope: Construct, id: str, props: EndpointProps) -> None:  # noqa: A002
        """Create the load balancer.

        Raises:
            ValueError: the endpoint would face the internet without TLS, or check tokens without TLS.
        """
        if (props.internet_facing or props.tokens) and props.certificate_arn is None:
            raise ValueError("an internet-facing endpoint, or one that checks tokens, needs a certificate")
        super().__init__(scope, id)
        self._props = props
        self._priorities: set[int] = set()
        self.security_group = self._security_group(props)
        self.load_balancer = self._load_balancer(props)
        self._zone = self._zone_of(props.dns_record)
        self._add_alias(props.dns_record.name if props.dns_record else None)
        name = props.dns_record.name if props.dns_record else self.load_balancer.load_balancer_dns_name
        self.url = f"{'https' if props.certificate_arn else 'http'}://{name}"
        self._listener = self._https(props.certificate_arn) if props.certificate_arn else self._http()
        self.firewall = None
        if props.firewall_requests_per_five_minutes:
            self.firewall = Firewall(
                self,
                "Firewall",
                FirewallProps(
                    load_balancer=self.load_balancer,
                    requests_per_five_minutes=props.firewall_requests_per_five_minutes,
                    log_retention=props.log_retention,
                ),
            )
        acknowledge(self.load_balancer, _accepted(props))

    def add_model(self, id: str, props: RouteProps) -> ModelRoute:  # noqa: A002
        """Pass a model's requests on to target groups of its own.

        Args:
            id: construct id, one of its own for each model. The rules' priorities follow from it.
            props: which requests.
        """
        # A host name in the zone of the endpoint's own name can only mean this load balancer.
        self._add_alias(props.host)
        return ModelRoute(
            self,
            id,
            props,
            listening=Listening(
                vpc=self._props.vpc,
                listener=self._listener,
                url=self.url,
                tokens=self._props.tokens,
            ),
            first_priority=self._first_priority(id, has_host=props.host is not None),
        )

    def _first_priority(self, id: str, *, has_host: bool) -> int:  # noqa: A002
        """Return the priority of a model's first rule: from its id, so that other models may come and go.

        Priorities by the models' order would make CloudFormation give a rule the priority that another still has, and
        the deployment would fail. Rules with a host come first: one without would take their requests.
        """
        slot = zlib.crc32(id.encode()) % _PRIORITY_SLOTS
        while slot in self._priorities:
            slot = (slot + 1) % _PRIORITY_SLOTS
        self._priorities.add(slot)
        return (_FIRST_PRIORITY if has_host else _FIRST_PRIORITY_WITHOUT_HOST) + slot * _RULES_OF_A_MODEL

    def _security_group(self, props: EndpointProps) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=props.vpc,
            description="Endpoint: clients in, engine out",
            allow_all_outbound=False,
        )
        ports = {443: "Clients", 80: "Redirected to HTTPS"} if props.certificate_arn else {80: "Clients"}
        for port, description in ports.items():
            for cidr in props.allowed_cidrs:
                group.add_ingress_rule(ec2.Peer.ipv4(cidr), ec2.Port.tcp(port), description)
        if props.tokens:
            # The load balancer itself fetches the issuer's keys; the L2 opens the way for OIDC only.
            group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "Keys of the token issuer")
        if "0.0.0.0/0" in props.allowed_cidrs:
            acknowledge(group, {"AwsSolutions-EC23": _OPEN})
            skip_checkov(group.node.default_child, {"CKV_AWS_260": _OPEN})
        return group

    def _load_balancer(self, props: EndpointProps) -> elbv2.ApplicationLoadBalancer:
        load_balancer = elbv2.ApplicationLoadBalancer(
            self,
            "LoadBalancer",
            vpc=props.vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=list(props.subnets)),
            internet_facing=props.internet_facing,
            security_group=self.security_group,
            # A long prefill sends no byte for minutes.
            idle_timeout=cdk.Duration.seconds(props.idle_timeout_seconds),
            drop_invalid_header_fields=True,
            desync_mitigation_mode=elbv2.DesyncMitigationMode.DEFENSIVE,
            deletion_protection=props.deletion_protection,
        )
        load_balancer.log_access_logs(props.access_log_bucket, "load-balancer")
        load_balancer.log_connection_logs(props.access_log_bucket, "load-balancer-connections")
        return load_balancer

    def _https(self, certificate_arn: str) -> elbv2.ApplicationListener:
        redirect = self.load_balancer.add_redirect(open=False)
        acknowledge(redirect, {"NIST.800.53.R5-ELBv2ACMCertificateRequired": _ONLY_REDIRECTS})
        return self.load_balancer.add_listener(
            "Https",
            protocol=elbv2.ApplicationProtocol.HTTPS,
            # TLS 1.3 and 1.2 without CBC ciphers; key exchange that stands up to quantum computers where clients can.
            ssl_policy=elbv2.SslPolicy.TLS13_12_RES_PQ,
            certificates=[acm.Certificate.from_certificate_arn(self, "Certificate", certificate_arn)],
            open=False,
            default_action=_not_found(),
        )

    def _http(self) -> elbv2.ApplicationListener:
        listener = self.load_balancer.add_listener(
            "Http", protocol=elbv2.ApplicationProtocol.HTTP, open=False, default_action=_not_found()
        )
        acknowledge(listener, {"NIST.800.53.R5-ELBv2ACMCertificateRequired": _PLAIN_HTTP})
        skip_checkov(listener.node.default_child, {"CKV_AWS_2": _PLAIN_HTTP, "CKV_AWS_103": _PLAIN_HTTP})
        return listener

    def _zone_of(self, record: DnsRecord | None) -> route53.IHostedZone | None:
        if record is None:
            return None
        return route53.HostedZone.from_hosted_zone_attributes(
            self, "Zone", hosted_zone_id=record.zone_id, zone_name=record.zone_name
        )

    def _add_alias(self, name: str | None) -> None:
        """Add an alias record, if the name is in the hosted zone that is known and has none yet."""
        if self._zone is None or name is None or not f".{name}".endswith(f".{self._zone.zone_name}"):
            return
        # By the name, which several models may share.
        construct_id = f"Alias-{name}"
        if self.node.try_find_child(construct_id) is None:
            route53.ARecord(
                self,
                construct_id,
                zone=self._zone,
                record_name=f"{name}.",
                target=route53.RecordTarget.from_alias(targets.LoadBalancerTarget(self.load_balancer)),
            )


def _not_found() -> elbv2.ListenerAction:
    return elbv2.ListenerAction.fixed_response(404, content_type="application/json", message_body=_NOT_FOUND)


def _accepted(props: EndpointProps) -> Mapping[str, str]:
    """Return the findings on the load balancer that are right for these properties."""
    reasons = {}
    if not props.firewall_requests_per_five_minutes:
        reasons["NIST.800.53.R5-ALBWAFEnabled"] = _NO_WAF
    if not props.deletion_protection:
        reasons["NIST.800.53.R5-ELBDeletionProtectionEnabled"] = _NO_DELETION_PROTECTION
    if props.certificate_arn is None:
        reasons["NIST.800.53.R5-ALBHttpToHttpsRedirection"] = _PLAIN_HTTP
    return reasons
