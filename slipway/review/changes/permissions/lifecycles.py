"""What the lifecycle rules of buckets delete sooner than before, or besides."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slipway.review.changes.model import WiderAccess
from slipway.review.changes.permissions.alternatives import alternatives, rows
from slipway.review.changes.resources import Resource

_FILTERS = ("TagFilters", "ObjectSizeGreaterThan", "ObjectSizeLessThan")


@dataclass(frozen=True)
class Deletion:
    """What one rule deletes.

    Attributes:
        what: objects, or their old versions.
        prefix: how their keys begin.
        filters: what else limits the rule.
        days: after how many, or on which date; a reference for a number that the template does not know.
        kept: how many newer versions must be there before a version goes.
    """

    what: str
    prefix: str
    filters: str
    days: int | str
    kept: int = 0

    def covers(self, other: "Deletion") -> bool:
        """Return whether this one deletes all that the other one does, and no later."""
        if self.what != other.what or not other.prefix.startswith(self.prefix) or self.kept > other.kept:
            return False
        if isinstance(self.days, int) and isinstance(other.days, int):
            is_no_later = self.days <= other.days
        else:
            is_no_later = self.days == other.days
        return is_no_later and self.filters in ("", other.filters)


def lifecycle_wider_access(before: Mapping[str, Resource], after: Mapping[str, Resource]) -> Iterator[WiderAccess]:
    """Yield what buckets that were there before delete, and did not delete or not so soon.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-s3-bucket-rule.html
    """
    for key, bucket in after.items():
        if bucket.type != "AWS::S3::Bucket" or key not in before:
            continue
        old = list(_deletions(before[key]))
        for deletion in _deletions(bucket):
            if not any(other.covers(deletion) for other in old):
                what = _sentence(deletion, old)
                yield WiderAccess(
                    stack=bucket.stack, resource=bucket.logical_id, kind="protection", harm="data_loss", what=what
                )


def _deletions(bucket: Resource) -> Iterator[Deletion]:
    for configuration in _choices(bucket.settled.get("Properties", {}).get("LifecycleConfiguration")):
        for rule, _ in rows(configuration.get("Rules")):
            if "Enabled" in _choices(rule.get("Status")):
                yield from _of_rule(rule)


def _of_rule(rule: Mapping[str, Any]) -> Iterator[Deletion]:
    prefix = str(rule.get("Prefix", ""))
    filters = ", ".join(f"{name} {_filter(rule[name])}" for name in _FILTERS if name in rule)
    for name in ("ExpirationInDays", "ExpirationDate"):
        for days in _choices(rule.get(name)):
            yield Deletion("Objects", prefix, filters, _number(days))
    for days in _choices(rule.get("NoncurrentVersionExpirationInDays")):
        yield Deletion("Old versions of objects", prefix, filters, _number(days))
    for versions in _choices(rule.get("NoncurrentVersionExpiration")):
        for days in _choices(versions.get("NoncurrentDays")):
            yield Deletion("Old versions of objects", prefix, filters, _number(days), _kept(versions))


def _kept(versions: Mapping[str, Any]) -> int:
    """Return how many newer versions a version needs; a number that only AWS knows may be 0."""
    numbers = [_number(choice or 0) for choice, _ in alternatives(versions.get("NewerNoncurrentVersions"))]
    return min(number if isinstance(number, int) else 0 for number in numbers)


def _choices(value: Any) -> list[Any]:
    return [choice for choice, _ in alternatives(value) if choice is not None]


def _filter(value: Any) -> str:
    """Return tags, which have no order, or a size as text."""
    tags = (f"{tag['Key']}={tag['Value']}" for tag in value) if isinstance(value, list) else (str(value),)
    return " and ".join(sorted(tags))


def _number(value: Any) -> int | str:
    text = str(value)
    return int(text) if text.isdigit() else text


def _sentence(deletion: Deletion, old: list[Deletion]) -> str:
    alike = [one for one in old if one.what == deletion.what]
    same = (str(one.days) for one in alike if (one.prefix, one.filters) == (deletion.prefix, deletion.filters))
    before = next(same, "not all of them" if alike else "never")
    of = f" under {deletion.prefix}" if deletion.prefix else ""
    only = f", with {deletion.filters}" if deletion.filters else ""
    when = f"after {deletion.days} days" if isinstance(deletion.days, int) else f"on {deletion.days}"
    return f"{deletion.what}{of} are deleted {when} (before: {before}){only}"
