"""What an environment uses and does not own: it was there before, and no command changes or deletes it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from slipway.assembly.stacks import Stack

EXISTING_METADATA = "Slipway::Existing"
"""Key of the templates' metadata whose value is a list of `ExistingResource`, as mappings."""

LUSTRE, OPEN_ZFS, EFS = "FSx for Lustre file system", "FSx for OpenZFS volume", "EFS file system"
BUCKET, KEY, SECURITY_GROUP, IMAGE = "S3 bucket", "KMS key", "security group", "machine image"

TITLE = "Stays: not Slipway's"
"""What every command says of such resources."""


@dataclass(frozen=True)
class ExistingResource:
    """A resource that the environment file names by its id.

    Attributes:
        kind: what it is, in AWS's words and with the capitals of the middle of a sentence, for example `FSx for Lustre
            file system`.
        id: how AWS's API names it: an id, a name or an ARN.
        use: what the environment uses it for, for example `/fsx`.
        facts: what the environment file says of it, by name, for `slipway preflight` to compare.
    """

    kind: str
    id: str
    use: str
    facts: tuple[tuple[str, str | int], ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.id} ({self.use})"

    def is_named(self, id_or_arn: str) -> bool:
        """Whether this is its id or its ARN, where the environment file may have either."""
        ours, theirs = self.id, id_or_arn
        if ours.startswith("arn:") == theirs.startswith("arn:"):
            return ours == theirs
        id_, arn = sorted((ours, theirs), key=lambda text: text.startswith("arn:"))
        return arn.endswith((f":{id_}", f"/{id_}"))

    @property
    def as_metadata(self) -> dict[str, Any]:
        """The mapping for a template's metadata."""
        return {
            "kind": self.kind,
            "id": self.id,
            "use": self.use,
            **({"facts": dict(self.facts)} if self.facts else {}),
        }


def existing_in(stacks: Iterable[Stack]) -> tuple[ExistingResource, ...]:
    """Return what the stacks of an environment use and do not own, each once."""
    rows = (row for stack in stacks for row in stack.template.get("Metadata", {}).get(EXISTING_METADATA, ()))
    return tuple(
        dict.fromkeys(
            ExistingResource(row["kind"], row["id"], row["use"], tuple(row.get("facts", {}).items())) for row in rows
        )
    )
