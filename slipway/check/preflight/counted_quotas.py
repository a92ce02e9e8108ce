"""Quotas on a number of resources, or on the sum of a size of theirs: the catalogue's rows, and the sums."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import jmespath
from pydantic import BaseModel, ConfigDict

from slipway import facts
from slipway.aws.account import Account
from slipway.catalogue import resource_types
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.deployed import own_ids
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.quota_headroom import QuotaHeadroom, UnknownLimitError, limit, unknown_limit


class CountedQuota(BaseModel):
    """A row of `quotas` in the catalogue.

    CloudFormation and the services' own API agree on the names of the properties that `where` and `amount` read. File
    systems of Intelligent-Tiering have no capacity of their own, and other quotas (Amazon FSx API reference,
    StorageType).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    check: str
    """Id of the check that asks."""

    quota: str
    """Key in slipway/facts/data/quotas.yaml."""

    type: str
    """CloudFormation's type of what counts."""

    listing: tuple[str, str, str]
    """boto3's service, its operation, the list in its answer, with what counts in the account."""

    id: str
    """A listed thing's physical id in CloudFormation, a JMESPath expression."""

    where: str | None = None
    """Which of that type count, a JMESPath expression on the properties; all when left out."""

    amount: str | None = None
    """What each counts, a JMESPath expression on the properties; 1 when left out."""

    def amount_of(self, thing: Any) -> int:
        """Return how much a thing takes of the quota, 0 when it does not count.

        Args:
            thing: the properties of a resource in a template, or what the service lists.
        """
        if self.where and not jmespath.search(self.where, thing):
            return 0
        return int(jmespath.search(self.amount, thing)) if self.amount else 1


@cache
def counted_quotas() -> tuple[CountedQuota, ...]:
    """Return all rows."""
    entries = resource_types().items()
    return tuple(CountedQuota.model_validate({"type": name, **row}) for name, entry in entries for row in entry.quotas)


def room_for_all(check: str, needs: Needs, account: Account) -> Iterator[Answer]:
    """Yield an answer for every row of a check that the stacks need something of.

    Args:
        check: its id.
        needs: what is needed.
        account: who is asked.

    Raises:
        ClientError, BotoCoreError: AWS refuses, or does not answer.
    """
    for row in counted_quotas():
        if row.check != check:
            continue
        amounts = [(stack.name, row.amount_of(properties)) for stack, _, properties in needs.resources(row.type)]
        if sum(amount for _, amount in amounts):
            yield _room(row, amounts, needs, account)


def _room(row: CountedQuota, amounts: list[tuple[str, int]], needs: Needs, account: Account) -> Answer:
    quota = facts.quota(row.quota)
    subject = f"{quota.name} in {needs.region}"
    stacks = tuple(sorted({stack for stack, amount in amounts if amount}))
    try:
        allowed = limit(quota, account)
    except UnknownLimitError as error:
        return unknown_limit(row.check, subject, error, stacks)
    own = own_ids(needs, account)
    service, operation, items = row.listing
    used = sum(
        row.amount_of(thing) for thing in account.listing(service, operation, items) if _id(row, thing) not in own
    )
    return QuotaHeadroom(row.check, quota, subject, sum(amount for _, amount in amounts), used, stacks).answer(
        allowed, needs.region
    )


def _id(row: CountedQuota, thing: Mapping[str, Any] | str) -> str | None:
    found: str | None = jmespath.search(row.id, thing)
    return found
