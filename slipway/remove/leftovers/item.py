"""One thing that stands in the account."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from slipway.remove.leftovers.kind import Kind, Left


@dataclass(frozen=True)
class Item:
    """Something that a list call knows.

    Attributes:
        kind: what it is.
        left: how it is recognized, priced and removed.
        facts: what the row takes out of the answer; facts that are not there are left out.
        tags: its tags, as far as they are known.
    """

    kind: Kind
    left: Left
    facts: Mapping[str, Any]
    tags: Mapping[str, str]

    @property
    def id(self) -> str:
        """How AWS's API names it."""
        return str(self.facts["id"])

    @property
    def name(self) -> str:
        """How people name it: its own name, or the last part of an ARN."""
        if "name" in self.facts:
            return str(self.facts["name"])
        return _last(self.id) if self.id.startswith("arn:") else self.id

    @property
    def since(self) -> str | None:
        """When it was made, if AWS says."""
        since = self.facts.get("since")
        if isinstance(since, int):  # CloudWatch Logs counts milliseconds
            since = datetime.fromtimestamp(since / 1000, UTC)
        return str(since)[:19] if since else None

    @property
    def arn_pattern(self) -> str | None:
        """Shell-style pattern of its ARN: the ARN itself where that is its id."""
        if self.id.startswith("arn:"):
            return self.id
        return self.left.arn.format_map(self.facts) if self.left.arn else None


def make_item(kind: Kind, left: Left, row: Any, parent: Any, account: str) -> Item:
    """Make an item of an object that a row's `items` expression made."""
    known = {"parent": parent, "account": account, "last": _last(str(row["id"]))}
    facts = {name: value for name, value in {**known, **row}.items() if value is not None}
    return Item(kind, left, facts, read_tags(facts.pop("tags", None)))


def _last(id_: str) -> str:
    """Return the last part of a path or an ARN."""
    return re.split("/" if "/" in id_ else ":", id_)[-1]


def read_tags(tags: Any) -> dict[str, str]:
    """Read tags in any of the forms that AWS's APIs have."""
    if isinstance(tags, Mapping):
        return {str(key): str(value) for key, value in tags.items()}
    found = {}
    for tag in tags or ():
        if not {"key", "tagkey"} & {key.lower() for key in tag}:
            found.update(read_tags(tag))
            continue
        low = {key.lower(): value for key, value in tag.items()}
        found[str(low.get("key", low.get("tagkey")))] = str(low.get("value", low.get("tagvalue", "")))
    return found
