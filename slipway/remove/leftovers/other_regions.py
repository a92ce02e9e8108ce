"""Whether the environment, or a cluster of its name, stands in another Region of the account.

IAM, Route 53, CloudWatch's dashboards and AWS Budgets have one list for all Regions. There a role of the environment
that stands in another Region looks like one that was left in this.
"""

from collections.abc import Callable, Iterator
from typing import Any

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.aws.stacks import deployed_stacks
from slipway.remove.leftovers.ownership import Subject


def deployed_elsewhere(account: Account, subject: Subject, note: Callable[[str, Exception], None]) -> Iterator[str]:
    """Yield the stacks of the environment's tag, or of a cluster's name, with their Region.

    Args:
        account: the account.
        subject: the environment.
        note: called with what AWS did not say, and why.
    """
    for region in _other_regions(account.client("ec2"), subject.region, note):
        try:
            stacks = deployed_stacks(account.client("cloudformation", region))
        except UNANSWERED as error:
            note(f"stacks in {region}", error)
            continue
        for name, stack in stacks.items():
            if name in subject.clusters or stack.tags.get(ENVIRONMENT_TAG) == subject.environment:
                yield f"{name} in {region}"


def _other_regions(ec2: Any, own: str, note: Callable[[str, Exception], None]) -> list[str]:
    """Return the Regions that the account has switched on."""
    try:
        rows = ec2.describe_regions()["Regions"]
    except UNANSWERED as error:
        note("stacks in other Regions", error)
        return []
    return sorted(row["RegionName"] for row in rows if row["RegionName"] != own)
