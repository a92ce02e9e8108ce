"""One thing that stands in the account."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slipway.leftovers.kind import Kind, Left


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
        return re.split("[:/]", self.id)[-1] if self.id.startswith("arn:") else self.id

    @property
    def since(self) -> str | None:
        """When it was made, if AWS tells."""
        return str(self.facts["since"])[:19] if "since" in self.facts else None

    @property
    def arn_pattern(self) -> str | None:
        """Shell-style pattern of its ARN: the ARN itself where that is its id."""
        if self.id.startswith("arn:"):
            return self.id
        return self.left.arn.format_map(self.facts) if self.left.arn else None


def make_item(kind: Kind, left: Left, row: Any, parent: Any, account: str) -> Item:
    """Make an item of an object that a row's `items` expression made."""
    facts = {name: value for name, value in {**row, "parent": parent, "account": account}.items() if value is not None}
    return Item(kind, left, facts, read_tags(facts.pop("tags", None)))


def read_tags(tags: Any) -> dict[str, str]:
    """Read tags in any of the forms that AWS's APIs have."""
    if isinstance(tags, Mapping):
        return {str(key): str(value) for key, value in tags.items()}
    found = {}
    for tag in tags or ():
        low = {key.lower(): value for key, value in tag.items()}
        found[str(low["key"])] = str(low.get("value", ""))
    return found
