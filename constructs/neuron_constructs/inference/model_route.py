"""The way from the load balancer to one model: its target groups, and the listener's rules for its requests."""

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct

from neuron_constructs.inference.engine_proxy import PROXY_PORT
from neuron_constructs.inference.token_check import TokenCheck, TokenClaim, check_token
from slipway import facts

_GET_PATHS = frozenset({"/v1/models"})
"""Paths of the OpenAI API that are read; all others are posted to."""

_PATHS_IN_A_RULE = 3
"""A rule holds five comparison strings and a condition three: three paths leave room for the method and the host."""

_DEREGISTRATION_SECONDS = 300
"""For how long a stopping task may finish its requests: an answer of 8000 tokens at 30 tokens a second.

Amazon ECS first deregisters a task, waits until the load balancer reports the target unused, and only then sends
SIGTERM and, a stop time-out later, SIGKILL (Amazon ECS developer guide, "Optimize load balancer connection draining
parameters"). So this delay lets streams end, and the engine's own draining comes on top of it. The load balancer calls
a target unused when the delay is over, not when its last request is (Application Load Balancer guide, "Edit target
group attributes"): every stop takes that long, and with a deployment in place clients have no model meanwhile.
"""


@dataclass(frozen=True, kw_only=True)
class RouteProps:
    """How requests for one model are told from those for others."""

    engine: facts.InferenceEngine
    """The engine's row: its port and its paths."""

    path: str | None = None
    """A folder before the engine's paths (`/tanuki-8b`), which the load balancer takes off; none for no folder."""

    host: str | None = None
    """A host name of its own; none for every name."""

    candidate_weights: tuple[int, int] | None = None
    """Shares of the model and of its candidate in the requests: 0 to 999, tokens welcome; none for no candidate."""

    has_proxy: bool
    """Whether tasks take requests over TLS, on the proxy's port in place of the engine's."""

    claims: Sequence[TokenClaim] = ()
    """What a token must say for this model, beside the endpoint's claims or in place of one with the same name."""


@dataclass(frozen=True, kw_only=True)
class Listening:
    """What the routes of an endpoint share."""

    vpc: ec2.IVpc
    """The VPC."""

    listener: elbv2.ApplicationListener
    """Where requests come in."""

    url: str
    """Scheme and name of the endpoint."""

    tokens: TokenCheck | None
    """Whose tokens every request needs."""


@dataclass(frozen=True, kw_only=True)
class _Requests:
    """Requests that one rule can name."""

    rule_id: str
    method: str
    paths: Sequence[str]


class ModelRoute(Construct):
    """Target groups of a model and of its candidate, and the rules that send them the OpenAI paths and nothing else."""

    target_group: elbv2.ApplicationTargetGroup
    candidate_target_group: elbv2.ApplicationTargetGroup | None
    base_url: str

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002
        props: RouteProps,
        *,
        listening: Listening,
        first_priority: int,
    ) -> None:
        """Create target groups and rules.

        Args:
            scope: parent construct.
            id: construct id.
            props: which requests.
            listening: where they come in.
            first_priority: priority of the first rule; the others follow it.

        Raises:
            ValueError: the model wants claims, and nothing checks tokens.
        """
        if props.claims and listening.tokens is None:
            raise ValueError("claims of a model need an endpoint that checks tokens")
        super().__init__(scope, id)
        self.target_group = self._target_group("Targets", props, listening.vpc)
        self.candidate_target_group = (
            self._target_group("CandidateTargets", props, listening.vpc) if props.candidate_weights else None
        )
        scheme, _, name = listening.url.partition("://")
        self.base_url = f"{scheme}://{props.host or name}{props.path or ''}/v1"
        for place, requests in enumerate(_requests(props.engine.inference_paths)):
            self._rule(requests, props, listening, first_priority + place)

    def _target_group(
        self,
        id: str,  # noqa: A002
        props: RouteProps,
        vpc: ec2.IVpc,
    ) -> elbv2.ApplicationTargetGroup:
        return elbv2.ApplicationTargetGroup(
            self,
            id,
            vpc=vpc,
            port=PROXY_PORT if props.has_proxy else props.engine.port,
            protocol=elbv2.ApplicationProtocol.HTTPS if props.has_proxy else elbv2.ApplicationProtocol.HTTP,
            target_type=elbv2.TargetType.IP,
            # Requests differ a hundredfold in length: counting them in turn would load one host and idle another.
            load_balancing_algorithm_type=elbv2.TargetGroupLoadBalancingAlgorithmType.LEAST_OUTSTANDING_REQUESTS,
            deregistration_delay=cdk.Duration.seconds(_DEREGISTRATION_SECONDS),
            health_check=elbv2.HealthCheck(
                path=props.engine.health_path,
                # Left out, it is HTTP.
                protocol=elbv2.Protocol.HTTPS if props.has_proxy else None,
                healthy_http_codes="200",
                interval=cdk.Duration.seconds(30),
                timeout=cdk.Duration.seconds(15),
                healthy_threshold_count=2,
                # A busy prefill may delay an answer for minutes, and a replaced task loads its model for longer than
                # that. An engine that has ended needs no health check: ECS sees its container stop.
                unhealthy_threshold_count=10,
            ),
        )

    def _rule(self, requests: _Requests, props: RouteProps, listening: Listening, priority: int) -> None:
        prefix = props.path or ""
        conditions = [
            elbv2.ListenerCondition.http_request_methods([requests.method]),
            elbv2.ListenerCondition.path_patterns([prefix + path for path in requests.paths]),
        ]
        if props.host:
            conditions.append(elbv2.ListenerCondition.host_headers([props.host]))
        forward = self._forward(props.candidate_weights)
        tokens = listening.tokens.requiring(props.claims) if listening.tokens else None
        rule = elbv2.ApplicationListenerRule(
            self,
            requests.rule_id,
            listener=listening.listener,
            priority=priority,
            conditions=conditions,
            action=check_token(tokens, forward) if tokens else forward,
        )
        if prefix:
            _take_off(prefix, rule)

    def _forward(self, weights: tuple[int, int] | None) -> elbv2.ListenerAction:
        if weights is None or self.candidate_target_group is None:
            return elbv2.ListenerAction.forward([self.target_group])
        # No stickiness: it is a cookie, and clients of an API keep none.
        return elbv2.ListenerAction.weighted_forward(
            [
                elbv2.WeightedTargetGroup(target_group=self.target_group, weight=weights[0]),
                elbv2.WeightedTargetGroup(target_group=self.candidate_target_group, weight=weights[1]),
            ]
        )


def _requests(paths: Sequence[str]) -> Sequence[_Requests]:
    """Return what each rule names, for the paths of an engine."""
    found = []
    posted = [path for path in paths if path not in _GET_PATHS]
    read = [path for path in paths if path in _GET_PATHS]
    for method, wanted in (("POST", posted), ("GET", read)):
        for start in range(0, len(wanted), _PATHS_IN_A_RULE):
            found.append(
                _Requests(
                    rule_id=f"{method.capitalize()}{start or ''}",
                    method=method,
                    paths=wanted[start : start + _PATHS_IN_A_RULE],
                )
            )
    return found


def _take_off(prefix: str, rule: elbv2.ApplicationListenerRule) -> None:
    """Rewrite `/prefix/v1/...` to `/v1/...`; conditions see the path as the client sent it."""
    # The L2 rule knows no transforms.
    resource = rule.node.default_child
    assert isinstance(resource, elbv2.CfnListenerRule)
    resource.transforms = [
        elbv2.CfnListenerRule.TransformProperty(
            type="url-rewrite",
            url_rewrite_config=elbv2.CfnListenerRule.RewriteConfigObjectProperty(
                # The whole is matched and the rest captured: a query string after the path stays.
                rewrites=[elbv2.CfnListenerRule.RewriteConfigProperty(regex=f"^{prefix}(/v1/.*)$", replace="$1")]
            ),
        )
    ]
