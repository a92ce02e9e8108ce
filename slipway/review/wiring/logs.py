"""Log groups: they expire, and are those that a service writes to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources

_NAMES = {
    "AWS::CodeBuild::Project": re.compile(r"/aws/codebuild/([^/]+)"),
    "AWS::ECS::Cluster": re.compile(r"/aws/ecs/containerinsights/([^/]+)/performance"),
    "AWS::EKS::Cluster": re.compile(r"/aws/(?:eks|containerinsights)/([^/]+)/\w+"),
    "AWS::Lambda::Function": re.compile(r"/aws/lambda/([^/]+)"),
}
"""Names of log groups that a service chooses, by the type of the resource whose name they contain."""

_NAME_PROPERTIES = ("Name", "ClusterName", "FunctionName")


@rule(
    severity="warning",
    reason="CloudWatch keeps the logs forever and bills them.",
    fix="Write `RetentionInDays`.",
    source='Amazon CloudWatch Logs user guide, "Change log data retention"',
)
def logs_expire(resources: Resources) -> Iterator[Finding]:
    """Every log group has a retention time."""
    for group in resources.of_type("AWS::Logs::LogGroup"):
        if group.at("RetentionInDays") is None:
            yield about(group, "RetentionInDays", "its logs never expire")


@rule(
    severity="warning",
    reason="The service writes to another log group, which it creates without retention and key, and which stays.",
    fix="Write the name of the resource.",
    source='Amazon CloudWatch user guide, "Container Insights performance log events"; AWS Lambda developer guide, '
    '"Sending Lambda function logs to CloudWatch Logs"; Amazon EKS user guide, "Send control plane logs to CloudWatch '
    'Logs"; AWS CodeBuild user guide, "Build project logs"',
)
def log_group_is_that_of_a_resource(resources: Resources) -> Iterator[Finding]:
    """A log group with the name that a service chooses contains the name of a resource of the stacks."""
    for group in resources.of_type("AWS::Logs::LogGroup"):
        for type_, pattern in _NAMES.items():
            found = pattern.fullmatch(str(group.at("LogGroupName")))
            owners = list(resources.of_type(type_))
            names = {str(owner.at(each)) for owner in owners for each in _NAME_PROPERTIES}
            if found and owners and not {found[1]} & (names | {f"${{{owner.key}}}" for owner in owners}):
                yield about(group, "LogGroupName", f"the stacks have no {type_} {found[1]}")
