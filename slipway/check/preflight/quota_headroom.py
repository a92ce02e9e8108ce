"""Whether a need fits into a service quota: the limit, and the arithmetic as users read it."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from botocore.exceptions import ClientError

from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer, Status
from slipway.facts import Quota

LIMIT_ACTIONS = ("servicequotas:GetServiceQuota", "servicequotas:GetAWSDefaultServiceQuota")
"""The IAM actions that `limit` needs."""

_NO_SUCH = "NoSuchResourceException"


class UnknownLimitError(Exception):
    """Service Quotas does not return the limit, or has no such quota in this Region and the facts have no default."""


@dataclass(frozen=True)
class QuotaHeadroom:
    """A need, and what there is for it.

    Attributes:
        check: id of the check that asks.
        quota: the quota.
        subject: what it limits, and where.
        needed: how much the environment needs of it, what it has already included.
        used: how much everything else in the account uses.
        stacks: the stacks that need it.
    """

    check: str
    quota: Quota
    subject: str
    needed: int
    used: int
    stacks: tuple[str, ...]

    def answer(self, allowed: int, region: str, *, what: str = "needed", worst: Status = "failed") -> Answer:
        """Return whether it fits.

        Args:
            allowed: the account's limit.
            region: AWS Region, for the command that raises the limit.
            what: what is needed, in the arithmetic.
            worst: the status when it does not fit.
        """
        lacking = self.needed + self.used - allowed
        unit = "" if self.quota.unit == "count" else f" {self.quota.unit}"
        sums = f"{what} {self.needed:,}{unit}, used by others now {self.used:,}{unit}, limit {allowed:,}{unit}"
        return Answer(
            check=self.check,
            status=worst if lacking > 0 else "passed",
            subject=self.subject,
            message=f"{sums}: {lacking:,}{unit} lacking" if lacking > 0 else f"{sums}: fits",
            fix=increase(self.quota, self.needed + self.used, region) if lacking > 0 else None,
            stacks=self.stacks,
        )


def limit(quota: Quota, account: Account) -> int:
    """Return what the account may have of it; AWS's default for all accounts when nobody ever changed it.

    Raises:
        UnknownLimitError: Service Quotas does not know the quota in this Region, and nor do the facts; or it knows the
            quota, but not its value.
        ClientError, BotoCoreError: AWS refuses, or does not answer.
    """
    client = account.client("service-quotas")
    for ask in (client.get_service_quota, client.get_aws_default_service_quota):
        try:
            answer = ask(ServiceCode=quota.service_code, QuotaCode=quota.quota_code)
        except ClientError as error:
            if error.response["Error"]["Code"] != _NO_SUCH:
                raise
        else:
            if "Value" in answer["Quota"]:
                return int(answer["Quota"]["Value"])
            # Service Quotas asks the service, and says in `ErrorReason` why that one did not answer.
            reason = answer["Quota"].get("ErrorReason", {}).get("ErrorMessage", "it gives no value")
            raise UnknownLimitError(f"Service Quotas does not return the limit of {quota.name}: {reason}")
    if quota.default is None:
        raise UnknownLimitError(f"Service Quotas has no quota {quota.quota_code} ({quota.name}) in {account.region}")
    return quota.default


def increase(quota: Quota, value: float, region: str) -> str:
    """Return the command that asks AWS for a higher limit."""
    return (
        f"aws service-quotas request-service-quota-increase --service-code {quota.service_code} "
        f"--quota-code {quota.quota_code} --desired-value {ceil(value)} --region {region}"
    )


def unknown_limit(check: str, subject: str, error: UnknownLimitError, stacks: Iterable[str] = ()) -> Answer:
    """Return the answer about a quota whose limit is unknown."""
    return Answer(
        check=check,
        status="not_checked",
        subject=subject,
        message=str(error),
        fix="look for the quota in the Service Quotas console",
        stacks=tuple(stacks),
    )
