"""AWS WAF before a load balancer: a rate limit, and AWS's rule groups adapted to prompts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_logs as logs
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct

from neuron_constructs.log_groups import stack_log_group

_RATE_WINDOW_SECONDS = 300
_SLOW_DOWN_SECONDS = 60
"""Clients of OpenAI's libraries wait as long as `retry-after` says, up to a minute, and ask again."""

_RULE_GROUPS = {
    "AWSManagedRulesAmazonIpReputationList": (),
    "AWSManagedRulesKnownBadInputsRuleSet": (
        "JavaDeserializationRCE_BODY",
        "Log4JRCE_BODY",
        "ReactJSRCE_BODY",
    ),
    "AWSManagedRulesCommonRuleSet": (
        "SizeRestrictions_BODY",
        "EC2MetaDataSSRF_BODY",
        "GenericLFI_BODY",
        "GenericRFI_BODY",
        "CrossSiteScripting_BODY",
    ),
}
"""AWS's rule groups in order, each with its rules that read the body.

A body here is a prompt: text about HTML, paths, URLs or Java is what people ask models about, it is longer than 8 KB,
and nothing behind the load balancer runs it. Those rules only count. Source: AWS WAF developer guide, "Baseline rule
groups". WAF silently passes over a name that no rule of the group has ("RuleActionOverride").
"""


@dataclass(frozen=True, kw_only=True)
class FirewallProps:
    """Properties of a `Firewall`."""

    load_balancer: elbv2.ApplicationLoadBalancer
    """What is protected."""

    requests_per_five_minutes: int
    """Requests from one address, above which it gets 429: 10 to 2 000 000 000."""

    log_retention: logs.RetentionDays
    """How long the log of refused requests is kept."""


class Firewall(Construct):
    """A web ACL that refuses floods, known attackers, malformed addresses and headers, but reads no prompts.

    The rate counts addresses, not tokens: WAF works before the token is checked, so whoever makes up a new one for each
    request would never reach a limit that counts by them. Clients behind one NAT address share a limit.
    """

    web_acl: wafv2.CfnWebACL
    metric_name: str
    """What its metrics have as dimension `WebACL`."""

    def __init__(self, scope: Construct, id: str, props: FirewallProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        # Metrics are told apart by this name alone: another environment of the account has another.
        self.metric_name = cdk.Stack.of(self).stack_name
        # There is no L2 for AWS WAF.
        self.web_acl = wafv2.CfnWebACL(
            self,
            "WebAcl",
            scope="REGIONAL",
            description="Endpoint: rate limit, known attackers, no inspection of prompts",
            default_action=wafv2.CfnWebACL.DefaultActionProperty(allow={}),
            visibility_config=_visibility(self.metric_name),
            custom_response_bodies={
                "SlowDown": _error_body("Too many requests from this address: slow down.", "rate_limit_error"),
                "TooLarge": _error_body("The request is too large.", "invalid_request_error"),
            },
            # Samples and logs would otherwise show tokens, and parts of prompts that a counting rule matched.
            data_protection_config=wafv2.CfnWebACL.DataProtectionConfigProperty(
                data_protections=[_hidden("SINGLE_HEADER", ["authorization"]), _hidden("BODY", None)]
            ),
            rules=[
                _rate_limit(0, props.requests_per_five_minutes),
                _too_large(1),
                *(_rule_group(2 + place, name, counted) for place, (name, counted) in enumerate(_RULE_GROUPS.items())),
            ],
        )
        wafv2.CfnWebACLAssociation(
            self,
            "Association",
            resource_arn=props.load_balancer.load_balancer_arn,
            web_acl_arn=self.web_acl.attr_arn,
        )
        self._log(props.log_retention)

    def _log(self, retention: logs.RetentionDays) -> None:
        stack = cdk.Stack.of(self)
        # WAF writes only to groups whose names begin so.
        group = stack_log_group(self, "Log", retention=retention, name=f"aws-waf-logs-{stack.stack_name}")
        wafv2.CfnLoggingConfiguration(
            self,
            "Logging",
            resource_arn=self.web_acl.attr_arn,
            # The group's own ARN ends in `:*`, which WAF refuses.
            log_destination_configs=[
                stack.format_arn(
                    service="logs",
                    resource="log-group",
                    resource_name=group.log_group_name,
                    arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
                )
            ],
            redacted_fields=[
                wafv2.CfnLoggingConfiguration.FieldToMatchProperty(single_header={"Name": "authorization"}),
            ],
            logging_filter={
                "DefaultBehavior": "DROP",
                "Filters": [
                    {
                        "Behavior": "KEEP",
                        "Requirement": "MEETS_ANY",
                        "Conditions": [{"ActionCondition": {"Action": "BLOCK"}}],
                    }
                ],
            },
        )


def _visibility(name: str) -> wafv2.CfnWebACL.VisibilityConfigProperty:
    return wafv2.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=name, sampled_requests_enabled=True
    )


def _error_body(message: str, kind: str) -> wafv2.CfnWebACL.CustomResponseBodyProperty:
    """Return a body in the form of OpenAI's errors, which its clients read."""
    return wafv2.CfnWebACL.CustomResponseBodyProperty(
        content_type="APPLICATION_JSON", content=json.dumps({"error": {"message": message, "type": kind}})
    )


def _hidden(field: str, keys: Sequence[str] | None) -> wafv2.CfnWebACL.DataProtectProperty:
    return wafv2.CfnWebACL.DataProtectProperty(
        action="SUBSTITUTION",
        field=wafv2.CfnWebACL.FieldToProtectProperty(field_type=field, field_keys=list(keys) if keys else None),
    )


def _rate_limit(priority: int, limit: int) -> wafv2.CfnWebACL.RuleProperty:
    return wafv2.CfnWebACL.RuleProperty(
        name="RateLimit",
        priority=priority,
        statement=wafv2.CfnWebACL.StatementProperty(
            rate_based_statement=wafv2.CfnWebACL.RateBasedStatementProperty(
                aggregate_key_type="IP", limit=limit, evaluation_window_sec=_RATE_WINDOW_SECONDS
            )
        ),
        action=_refuse(429, "SlowDown", retry_after=_SLOW_DOWN_SECONDS),
        visibility_config=_visibility("RateLimit"),
    )


def _too_large(priority: int) -> wafv2.CfnWebACL.RuleProperty:
    """Return the rule that refuses bodies of 10 MB and more by the length that their header gives.

    WAF reads only the first 8 KB of a body before an Application Load Balancer, so a size rule on the body itself can
    tell nothing but "more than 8 KB", which is every long prompt. A prompt of 128 000 tokens has about 0.6 MB.
    """
    return wafv2.CfnWebACL.RuleProperty(
        name="TooLarge",
        priority=priority,
        statement=wafv2.CfnWebACL.StatementProperty(
            regex_match_statement=wafv2.CfnWebACL.RegexMatchStatementProperty(
                field_to_match=wafv2.CfnWebACL.FieldToMatchProperty(single_header={"Name": "content-length"}),
                regex_string="^0*[1-9][0-9]{7,}$",
                text_transformations=[wafv2.CfnWebACL.TextTransformationProperty(priority=0, type="NONE")],
            )
        ),
        action=_refuse(413, "TooLarge"),
        visibility_config=_visibility("TooLarge"),
    )


def _refuse(status: int, body: str, *, retry_after: int | None = None) -> wafv2.CfnWebACL.RuleActionProperty:
    headers = (
        [wafv2.CfnWebACL.CustomHTTPHeaderProperty(name="retry-after", value=str(retry_after))] if retry_after else None
    )
    return wafv2.CfnWebACL.RuleActionProperty(
        block=wafv2.CfnWebACL.BlockActionProperty(
            custom_response=wafv2.CfnWebACL.CustomResponseProperty(
                response_code=status, custom_response_body_key=body, response_headers=headers
            )
        )
    )


def _rule_group(priority: int, name: str, counted: Sequence[str]) -> wafv2.CfnWebACL.RuleProperty:
    return wafv2.CfnWebACL.RuleProperty(
        name=name,
        priority=priority,
        statement=wafv2.CfnWebACL.StatementProperty(
            managed_rule_group_statement=wafv2.CfnWebACL.ManagedRuleGroupStatementProperty(
                vendor_name="AWS",
                name=name,
                rule_action_overrides=[
                    wafv2.CfnWebACL.RuleActionOverrideProperty(
                        name=rule, action_to_use=wafv2.CfnWebACL.RuleActionProperty(count={})
                    )
                    for rule in counted
                ]
                or None,
            )
        ),
        override_action=wafv2.CfnWebACL.OverrideActionProperty(none={}),
        visibility_config=_visibility(name),
    )
