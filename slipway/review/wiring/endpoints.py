"""VPC endpoints: which service they are for, and what their policies allow."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from slipway import facts
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources
from slipway.review.wiring.statements import statements


@rule(
    reason="AWS refuses the endpoint, or it does not work.",
    fix="Write `com.amazonaws.REGION.SERVICE` with the stack's Region.",
    source='AWS PrivateLink guide, "AWS services that integrate with AWS PrivateLink"',
)
def endpoint_is_of_the_region(resources: Resources) -> Iterator[Finding]:
    """A VPC endpoint is for a service of its stack's Region."""
    for endpoint in resources.of_type("AWS::EC2::VPCEndpoint"):
        name, own = str(endpoint.at("ServiceName")), resources.region_of(endpoint)
        region = next((each for each in facts.regions() if f".{each}." in name), own)
        if own in facts.regions() and region != own:
            yield about(endpoint, "ServiceName", f"{name} is not a service of {own}")


@rule(
    severity="warning",
    reason="Machines cannot pull images or install packages: their set-up fails after minutes.",
    fix="Allow reading these buckets in the endpoint's policy.",
    source="slipway/facts/data/aws_buckets.yaml, which has the page of each bucket",
)
def endpoint_allows_reading_awss_buckets(resources: Resources) -> Iterator[Finding]:
    """The policy of an S3 endpoint allows everyone to read AWS's own buckets of the Region."""
    for endpoint in resources.of_type("AWS::EC2::VPCEndpoint"):
        allowed = [
            arn.replace("${AWS::Partition}", "aws")
            for statement in statements(endpoint.at("PolicyDocument"))
            if statement.is_for("") and statement.allows_action("s3:GetObject") and "Condition" not in statement.row
            for arn in statement.resources
        ]
        names = [name.format(region=resources.region_of(endpoint)) for name in facts.aws_buckets()]
        missing = [name for name in names if not any(fnmatchcase(f"arn:aws:s3:::{name}/key", arn) for arn in allowed)]
        is_s3 = str(endpoint.at("ServiceName")).endswith(".s3")
        if is_s3 and endpoint.at("PolicyDocument") and missing:
            yield about(endpoint, "PolicyDocument", f"it does not allow reading {', '.join(missing)}")
