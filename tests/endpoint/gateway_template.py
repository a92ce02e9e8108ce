"""What a template says of its load balancer. What is not described here is refused: nothing may go by unseen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_pascal

from tests.endpoint.stack_values import StackValues


class Known(BaseModel):
    """Properties in CloudFormation's form; one that is not declared is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_pascal, populate_by_name=True)


# ---- conditions ---------------------------------------------------------------------------------------------------
class Values(Known):
    values: tuple[str, ...]


class HostHeader(Known):
    field: Literal["host-header"]
    host_header_config: Values


class PathPattern(Known):
    field: Literal["path-pattern"]
    path_pattern_config: Values


class RequestMethod(Known):
    field: Literal["http-request-method"]
    http_request_method_config: Values


Condition = Annotated[HostHeader | PathPattern | RequestMethod, Field(discriminator="field")]


# ---- actions ------------------------------------------------------------------------------------------------------
class FixedResponseConfig(Known):
    status_code: int
    content_type: str = "text/plain"
    message_body: str = ""


class FixedResponse(Known):
    type: Literal["fixed-response"]
    order: int = 1
    fixed_response_config: FixedResponseConfig


class RedirectConfig(Known):
    protocol: str = "#{protocol}"
    host: str = "#{host}"
    port: str = "#{port}"
    path: str = "/#{path}"
    query: str = "#{query}"
    status_code: Literal["HTTP_301", "HTTP_302"]


class Redirect(Known):
    type: Literal["redirect"]
    order: int = 1
    redirect_config: RedirectConfig


class AdditionalClaim(Known):
    name: str
    format: Literal["single-string", "string-array", "space-separated-values"]
    values: Annotated[tuple[str, ...], Field(min_length=1, max_length=10)]


class JwtValidationConfig(Known):
    issuer: str
    jwks_endpoint: Annotated[str, Field(pattern="^https://")]
    additional_claims: Annotated[tuple[AdditionalClaim, ...], Field(max_length=10)] = ()


class JwtValidation(Known):
    type: Literal["jwt-validation"]
    order: int = 1
    jwt_validation_config: JwtValidationConfig


class TargetGroupTuple(Known):
    target_group_arn: str
    weight: Annotated[int, Field(ge=0, le=999)] = 1


class Stickiness(Known):
    enabled: Literal[False] = False


class ForwardConfig(Known):
    target_groups: Annotated[tuple[TargetGroupTuple, ...], Field(min_length=1, max_length=5)]
    target_group_stickiness_config: Stickiness = Stickiness()


class Forward(Known):
    type: Literal["forward"]
    order: int = 1
    target_group_arn: str | None = None
    forward_config: ForwardConfig | None = None

    @property
    def target_groups(self) -> tuple[TargetGroupTuple, ...]:
        if self.forward_config is not None:
            return self.forward_config.target_groups
        assert self.target_group_arn is not None, "a forward action without a target group"
        return (TargetGroupTuple(target_group_arn=self.target_group_arn),)


Action = Annotated[FixedResponse | Redirect | JwtValidation | Forward, Field(discriminator="type")]


# ---- transforms ---------------------------------------------------------------------------------------------------
# Elastic Load Balancing has no look-around, back references, atomic groups, possessive quantifiers or recursion.
_UNSUPPORTED_EXPRESSION = re.compile(r"\(\?(?!:)|\\[1-9]|[*+?}]\+|\\p")


def _supported(expression: str) -> str:
    if _UNSUPPORTED_EXPRESSION.search(expression):
        raise ValueError(f"{expression}: a load balancer has no such regular expression")
    return expression


class Rewrite(Known):
    regex: Annotated[str, Field(max_length=1024), BeforeValidator(_supported)]
    replace: Annotated[str, Field(max_length=1024)]


class Rewrites(Known):
    rewrites: Annotated[tuple[Rewrite, ...], Field(min_length=1, max_length=1)]


class UrlRewrite(Known):
    type: Literal["url-rewrite"]
    url_rewrite_config: Rewrites


# ---- resources ----------------------------------------------------------------------------------------------------
class Rule(Known):
    listener_arn: str
    priority: Annotated[int, Field(ge=1, le=50_000)]
    conditions: Annotated[tuple[Condition, ...], Field(min_length=1)]
    actions: Annotated[tuple[Action, ...], Field(min_length=1)]
    transforms: Annotated[tuple[UrlRewrite, ...], Field(max_length=1)] = ()


class CertificateReference(Known):
    certificate_arn: str


class Listener(Known):
    load_balancer_arn: str
    port: int
    protocol: Literal["HTTP", "HTTPS"]
    default_actions: Annotated[tuple[Action, ...], Field(min_length=1)]
    certificates: tuple[CertificateReference, ...] = ()
    ssl_policy: str | None = None
    listener_attributes: tuple[Any, ...] = Field(default=(), max_length=0)


def _attributes(pairs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    return {pair["Key"]: str(pair["Value"]) for pair in pairs}


class LoadBalancer(Known):
    load_balancer_attributes: Annotated[dict[str, str], BeforeValidator(_attributes)]
    scheme: Literal["internal", "internet-facing"]
    type: Literal["application"]
    ip_address_type: Any = None
    name: Any = None
    security_groups: Any
    subnets: Any
    tags: Any = None


class Matcher(Known):
    http_code: str


class TargetGroup(Known):
    port: int
    protocol: Literal["HTTP", "HTTPS"]
    target_type: Literal["ip"]
    health_check_path: str
    health_check_interval_seconds: int = 30
    health_check_timeout_seconds: int = 5
    healthy_threshold_count: int = 5
    unhealthy_threshold_count: int = 2
    health_check_protocol: Literal["HTTP", "HTTPS"] = "HTTP"
    health_check_port: Literal["traffic-port"] = "traffic-port"
    health_check_enabled: Literal[True] = True
    matcher: Matcher = Matcher(http_code="200")
    target_group_attributes: Annotated[dict[str, str], BeforeValidator(_attributes)] = {}
    name: Any = None
    tags: Any = None
    vpc_id: Any


class KnownRule(Known):
    """A listener's rule, the default one last: it has no priority and no condition."""

    priority: int
    conditions: tuple[Condition, ...]
    actions: tuple[Action, ...]
    rewrite: Rewrite | None


class LoadBalancerTemplate:
    """The load balancer of a template, with its listeners, their rules and the target groups, by logical id."""

    def __init__(self, values: StackValues) -> None:
        """Read the template.

        Raises:
            pydantic.ValidationError: it says something that the gateway does not know.
        """
        balancers = [LoadBalancer(**found) for _, found in _of(values, "LoadBalancer")]
        assert len(balancers) == 1, f"{len(balancers)} load balancers"
        self.load_balancer = balancers[0]
        self.listeners = {logical_id: Listener(**found) for logical_id, found in _of(values, "Listener")}
        self.target_groups = {logical_id: TargetGroup(**found) for logical_id, found in _of(values, "TargetGroup")}
        self._rules = [Rule(**found) for _, found in _of(values, "ListenerRule")]
        assert not list(_of(values, "ListenerCertificate")), "further certificates are not known to the gateway"

    def rules(self, listener_id: str) -> tuple[KnownRule, ...]:
        """The rules of a listener in the order in which they are tried."""
        own = sorted((rule for rule in self._rules if rule.listener_arn == listener_id), key=lambda rule: rule.priority)
        priorities = [rule.priority for rule in own]
        assert len(set(priorities)) == len(priorities), f"{listener_id}: two rules of one priority in {priorities}"
        known = [
            KnownRule(
                priority=rule.priority,
                conditions=rule.conditions,
                actions=_in_order(rule.actions),
                rewrite=rule.transforms[0].url_rewrite_config.rewrites[0] if rule.transforms else None,
            )
            for rule in own
        ]
        default = _in_order(self.listeners[listener_id].default_actions)
        return (*known, KnownRule(priority=50_001, conditions=(), actions=default, rewrite=None))


def _of(values: StackValues, kind: str) -> Iterable[tuple[str, dict[str, Any]]]:
    return values.resources(f"AWS::ElasticLoadBalancingV2::{kind}")


def _in_order(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    ordered = tuple(sorted(actions, key=lambda action: action.order))
    assert len({action.order for action in ordered}) == len(ordered), f"two actions of one order: {ordered}"
    *before, last = ordered
    assert all(isinstance(action, JwtValidation) for action in before), f"only a token check may come first: {ordered}"
    assert not isinstance(last, JwtValidation), f"no action after the token check: {ordered}"
    return ordered
