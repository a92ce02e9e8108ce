"""Services of AWS as principals that act for this account alone: the guard against a confused deputy.

A service that works for every account could be made to use this one's role or bucket for another. Services that say
for which account they act send `aws:SourceAccount` (IAM user guide, "The confused deputy problem"). The service's guide
says whether one does: Amazon ECS "Task IAM role", AWS CodeBuild "Cross-service confused deputy prevention", Amazon
EventBridge "Identity and access management", Amazon VPC "Flow logs", Amazon S3 "Enabling server access logging".
"""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

_THIS_ACCOUNT = {"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}}


def service_for_this_account(service: str) -> iam.ServicePrincipal:
    """Return a service that may act only for this account, for example `codebuild.amazonaws.com`."""
    return iam.ServicePrincipal(service, conditions=_THIS_ACCOUNT)


def bind_to_this_account(role: iam.IRole) -> None:
    """Bind the trust of a role that the CDK made for one service to this account."""
    resource = role.node.default_child
    assert isinstance(resource, iam.CfnRole)
    # The CDK takes no condition for a role that it makes by itself.
    resource.add_property_override("AssumeRolePolicyDocument.Statement.0.Condition", _THIS_ACCOUNT)
