"""Rules about ARNs: the partition and Region that they name."""

from collections.abc import Iterator

from slipway.config.environment import Environment
from slipway.config.problems import Finding, Path, shown
from slipway.config.rules.registry import environment_rule

# Every Region of the facts is in the partition of AWS's public Regions.
_PARTITION = "aws"


def other_region(path: Path, arn: str, region: str, fix: str) -> Iterator[Finding]:
    """Yield a finding when an ARN names another partition or Region than the environment's.

    Args:
        path: Field with the ARN.
        arn: The ARN.
        region: The environment's Region.
        fix: What to write instead, and why.
    """
    yield from other_partition(path, arn, region)
    found = arn.split(":")[3]
    if found != region:
        yield Finding(path, f"the ARN is of {found}, the environment in {shown(region)}", fix)


def other_partition(path: Path, arn: str, region: str) -> Iterator[Finding]:
    """Yield a finding when an ARN names another partition than that of the environment's Region.

    Args:
        path: Field with the ARN.
        arn: The ARN.
        region: The environment's Region.
    """
    _, found, service, *_ = arn.split(":")
    if found != _PARTITION:
        message = f"the ARN is of the partition {found}, {region} is in {_PARTITION}"
        yield Finding(path, message, f"Write arn:{_PARTITION}:{service}:...")


@environment_rule
def key_in_region(environment: Environment) -> Iterator[Finding]:
    """The KMS key is in the environment's partition and Region."""
    if environment.kms is not None:
        fix = "Name a key there: what a Region encrypts, it encrypts with its own keys."
        yield from other_region(("kms", "key_arn"), environment.kms.key_arn, environment.region, fix)


@environment_rule
def permissions_boundary_in_partition(environment: Environment) -> Iterator[Finding]:
    """The permissions boundary is a policy of the partition `aws`, where the environment's Region is."""
    arn = environment.permissions_boundary_arn
    if arn is not None:
        yield from other_partition(("permissions_boundary_arn",), arn, environment.region)
