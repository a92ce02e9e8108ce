"""The search: every kind is listed, and what carries the environment's tags or names is distinguished from the rest.

The tag index (`resourcegroupstaggingapi`) is asked first, but it lags behind, does not know all services, and goes on
naming what was deleted. So a thing is a leftover only when its own service lists it, and the index has tags that the
service's list does not.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from botocore.exceptions import ClientError

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED, words_of
from slipway.catalogue import known
from slipway.remove.documented_leftovers import rules
from slipway.remove.leftovers.calls import answers, listed
from slipway.remove.leftovers.cost import monthly_cost
from slipway.remove.leftovers.deployed import Deployed, find_deployed
from slipway.remove.leftovers.findings import Findings, Leftover, NotLookedAt, Shared
from slipway.remove.leftovers.item import Item, make_item, read_tags
from slipway.remove.leftovers.kind import First, Kind, Left, kinds
from slipway.remove.leftovers.other_regions import deployed_elsewhere
from slipway.remove.leftovers.ownership import (
    CLUSTER_TAGS,
    KUBERNETES_TAG,
    LOGICAL_ID_TAG,
    STACK_ID_TAG,
    STACK_TAG,
    Subject,
    clusters_in,
    sign,
)
from slipway.remove.leftovers.removal import commands

_AT_ONCE = 8
"""Lists that are asked for side by side."""

_STACKS = "CloudFormation stack"
_VPC = "VPC"
_EKS_CLUSTER = "EKS cluster"
_HOSTS = ("EC2 instance", "ECS cluster", "EKS cluster")
"""Kinds whose volumes, interfaces, services and node groups belong to what they belong to."""

Index = Mapping[str, Mapping[str, str]]
"""Tags by ARN."""


def look(subject: Subject, account: Account) -> Findings:
    """Look for what is left of an environment.

    Raises:
        ClientError: CloudFormation does not say what exists, without which nothing can be said.
        BotoCoreError: AWS does not answer.
    """
    search = _Search(account)
    # All environments': a service whose list has no tags would else show a neighbour's thing by its name alone.
    index = search.index({ENVIRONMENT_TAG: None})
    listed_items = (item for item in search.everything() if not subject.uses_existing(item.id))
    items = list(search.with_own_tags(with_tags(listed_items, index)))
    subject = subject.with_clusters(_clusters(items, subject))
    others = tuple(_clusters_of_others(items, subject))
    subject = subject.without_clusters(others)
    search.silent += [
        NotLookedAt(
            what=f"what has only the tags of cluster {name}",
            why="a cluster of that name exists without the environment's tag: it belongs to another owner",
        )
        for name in others
    ]
    for cluster in subject.clusters:
        index |= search.index({f"{KUBERNETES_TAG}{cluster}": None})
        for tag in CLUSTER_TAGS:
            index |= search.index({tag: cluster})
    items = with_tags(items, index)
    owned = {item.kind.kind + item.id: (item, why) for item in items if (why := sign(item, subject))}
    stacks = [item for item, _ in owned.values() if item.kind.kind == _STACKS]
    deployed = find_deployed(account.client("cloudformation"), stacks, subject)
    # What somebody put into a VPC that stands is in use there, and is not a leftover.
    left_vpcs = {item.id for item, _ in owned.values() if item.kind.kind == _VPC} - deployed.ids
    for item in items:
        if item.facts.get("vpc") in left_vpcs and ENVIRONMENT_TAG not in item.tags:
            owned.setdefault(item.kind.kind + item.id, (item, f"it is in VPC {item.facts['vpc']}"))
    left = search.without_doubtful(_without_deployed(list(owned.values()), deployed), subject)
    return Findings(
        environment=subject.environment,
        account=account.id,
        region=subject.region,
        standing=deployed.stacks,
        leftovers=tuple(_leftover(item, why, subject) for item, why in left),
        tagged_only=tuple(sorted(_tagged_only(index, subject, deployed))),
        shared=tuple(_shared(items, owned)),
        existing=tuple(map(str, subject.existing)),
        commands=commands([item for item, _ in left], subject.region, search.ask),
        not_looked_at=tuple(search.silent),
    )


@dataclass
class _Search:
    """The calls, and those that got no answer."""

    account: Account
    silent: list[NotLookedAt] = field(default_factory=list)

    def index(self, tags: Mapping[str, str | None]) -> dict[str, Mapping[str, str]]:
        """Return what the tag index knows with all of these tags; none as a value: whatever its value."""
        filters = [{"Key": key, **({"Values": [value]} if value else {})} for key, value in tags.items()]
        try:
            pages = (
                self.account.client("resourcegroupstaggingapi")
                .get_paginator("get_resources")
                .paginate(TagFilters=filters)
            )
            return {
                row["ResourceARN"]: read_tags(row["Tags"]) for page in pages for row in page["ResourceTagMappingList"]
            }
        except UNANSWERED as error:
            self._note("the tag index", error)
            return {}

    def everything(self) -> list[Item]:
        """List all kinds."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return [item for found in pool.map(self._items, kinds()) for item in found]

    def _items(self, kind: Kind) -> list[Item]:
        if kind.left is None:
            return []
        facts = {"account": self.account.id, "region": self.account.region}
        try:
            return [
                make_item(kind, kind.left, row, parent, self.account.id)
                for parent, row in listed(self.account.client(kind.service), kind, kind.left.items, facts)
            ]
        except UNANSWERED as error:
            self._note(kind.kind, error)
            return []

    def with_own_tags(self, items: list[Item]) -> Iterator[Item]:
        """Yield the items, with the tags that a call of their own returns where neither list nor index did."""
        for item in items:
            call = item.left.tagged_by
            asked = call is not None and not item.tags and fnmatchcase(item.name, call.only)
            yield replace(item, tags=self._own_tags(item)) if asked else item

    def _own_tags(self, item: Item) -> dict[str, str]:
        call = item.left.tagged_by
        assert call is not None
        try:
            return read_tags(list(answers(self.account.client(item.kind.service), call, call.path, item.facts, {})))
        except UNANSWERED as error:
            # S3 answers with an error when a bucket has no tags.
            if not isinstance(error, ClientError) or error.response["Error"]["Code"] != "NoSuchTagSet":
                self._note(f"the tags of {item.kind.kind} {item.id}", error)
            return {}

    def without_doubtful(self, left: list[tuple[Item, str]], subject: Subject) -> list[tuple[Item, str]]:
        """Leave out what may be the environment's in another Region, and note it."""
        doubtful = [item for item, _ in left if item.left.all_regions]
        stacks = tuple(deployed_elsewhere(self.account, subject, self._note)) if doubtful else ()
        if not stacks:
            return left
        why = f"{', '.join(stacks)} is deployed, and this may be a part of it: its list has all Regions"
        self.silent += [NotLookedAt(what=f"whether {item.kind.kind} {item.id} is left", why=why) for item in doubtful]
        return [(item, why_ours) for item, why_ours in left if not item.left.all_regions]

    def ask(self, item: Item, first: First) -> list[Mapping[str, Any]]:
        """List what has to make way for an item."""
        try:
            return list(answers(self.account.client(item.kind.service), first, first.path, item.facts, {}))
        except UNANSWERED as error:
            self._note(f"what holds {item.kind.kind} {item.id}", error)
            return []

    def _note(self, what: str, error: Exception) -> None:
        self.silent.append(NotLookedAt(what=what, why=words_of(error)))


def with_tags(items: Iterable[Item], index: Index) -> list[Item]:
    """Return the items with the tags that the index knows of them."""
    return [replace(item, tags={**item.tags, **_indexed(item, index)}) for item in items]


def _indexed(item: Item, index: Index) -> Mapping[str, str]:
    pattern = item.arn_pattern
    if not index or pattern is None:
        return {}
    return next((tags for arn, tags in index.items() if fnmatchcase(arn, pattern)), {})


def _clusters(items: list[Item], subject: Subject) -> Iterator[str]:
    """Yield the clusters that the environment's things are, or whose tags they have."""
    for item in items:
        if item.tags.get(ENVIRONMENT_TAG) == subject.environment:
            yield from clusters_in(item.tags)
            if item.kind.kind == _EKS_CLUSTER:
                yield item.id


def _clusters_of_others(items: list[Item], subject: Subject) -> Iterator[str]:
    """Yield the names of the environment's clusters that somebody else's cluster has now."""
    for name in subject.clusters:
        namesakes = [item for item in items if item.kind.kind in (_STACKS, _EKS_CLUSTER) and item.id == name]
        if any(item.tags.get(ENVIRONMENT_TAG) != subject.environment for item in namesakes):
            yield name


def _without_deployed(owned: list[tuple[Item, str]], deployed: Deployed) -> list[tuple[Item, str]]:
    hosts = {item.id for item, _ in owned if item.kind.kind in _HOSTS and deployed.owns(item, ())}
    return [
        (item, why)
        for item, why in owned
        if not deployed.owns(item, hosts) and not (item.kind.kind == _STACKS and item.id in deployed.stacks)
    ]


def _leftover(item: Item, why: str, subject: Subject) -> Leftover:
    usd, cost = monthly_cost(item, subject.region)
    return Leftover(
        kind=item.kind.kind,
        id=item.id,
        name=item.name,
        why=why,
        since=item.since,
        reason=_documented(item, subject),
        usd_per_month=usd,
        cost=cost,
        holds_data=item.left.data,
    )


def _documented(item: Item, subject: Subject) -> str | None:
    """Return why `cdk destroy` leaves it, if that is written down.

    It has a documented name, or the environment's template keeps it: CloudFormation's tags tell which resource it was.
    """
    for row in rules().documented:
        if row.left_by == "a Slurm cluster" and row.kind == item.kind.kind and fnmatchcase(item.id, row.name):
            return row.reason
    type_ = subject.kept.get((item.tags.get(STACK_TAG, ""), item.tags.get(LOGICAL_ID_TAG, "")))
    kept = known(type_).kept_when_persistent if type_ else None
    return kept.reason if kept else None


def _shared(items: list[Item], owned: Mapping[str, Any]) -> Iterator[Shared]:
    for item in items:
        for row in rules().documented:
            is_meant = (
                row.left_by == "ParallelCluster" and row.kind == item.kind.kind and fnmatchcase(item.id, row.name)
            )
            if is_meant and item.kind.kind + item.id not in owned:
                yield Shared(kind=item.kind.kind, id=item.id, reason=row.reason)


def _tagged_only(index: Index, subject: Subject, deployed: Deployed) -> Iterator[str]:
    """Yield what the index knows of kinds that are in no row; what is in a row was asked for by its list."""
    known = [_any_of(kind.left) for kind in kinds() if kind.left and kind.left.arn]
    for arn, tags in index.items():
        is_another = tags.get(ENVIRONMENT_TAG, subject.environment) != subject.environment
        stands = tags.get(STACK_ID_TAG) in deployed.ids
        is_theirs = is_another or subject.uses_existing(arn)
        if not is_theirs and not stands and not any(fnmatchcase(arn, pattern) for pattern in known):
            yield arn


class _Anything(dict[str, str]):
    def __missing__(self, _key: str) -> str:
        return "*"


def _any_of(left: Left) -> str:
    """Return the pattern of the ARNs of a kind."""
    return str(left.arn).format_map(_Anything())
