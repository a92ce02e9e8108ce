"""What becomes broader between two templates of one stack, without AWS's differ, which has no say in it."""

from typing import Any

from slipway.assembly.stacks import Stack
from slipway.review.changes.permissions.compare import wider_access
from slipway.review.changes.resources import read_resources

ROLE: dict[str, Any] = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": []}}}


def broader(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the sentences about two sets of resources."""
    sides = (Stack("one", "us-west-2", {"Resources": row}, {}, termination_protection=True) for row in (before, after))
    return [row.what for row in wider_access(*(read_resources((side,)) for side in sides))]


def resource(resource_type: str, **properties: Any) -> dict[str, Any]:
    """Return the resource `One`."""
    return {"One": {"Type": resource_type, "Properties": properties}}


def allowed(*statements: Any, **statement: Any) -> dict[str, Any]:
    """Return a role that may read a bucket, with other values in the statement, or has other statements."""
    rows = list(statements) or [
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*", **statement}
    ]
    policy = resource("AWS::IAM::Policy", Roles=[{"Ref": "Role"}], PolicyDocument={"Statement": rows})
    return {"Role": ROLE, **policy}
