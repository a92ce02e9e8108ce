"""What is left after `cdk destroy`, and whether someone wrote down that it would be.

Two witnesses are heard: the inventory (what the AWS APIs list) and the ledger (which resources were created and
never deleted). The documented leftovers are rows of documented_leftovers.yaml.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict

from slipway.catalogue import known
from slipway.rehearse.inventory import Inventory
from slipway.rehearse.ledger import ResourceEntry
from slipway.remove.documented_leftovers import rules


class Leftover(BaseModel):
    """Something that stands after everything was destroyed."""

    model_config = ConfigDict(frozen=True)

    kind: str
    """What it is: a kind of the inventory, or `resource` for one that only the ledger knows."""

    name: str
    """Its name in the inventory; `stack/logical id (type)` for a resource."""

    documented: bool
    """Whether a row of documented_leftovers.yaml, or the environment's `persistent` data, accounts for it."""

    reason: str
    """Why it is left, or that nobody knows."""


def classify(
    added: Inventory, entries: Sequence[ResourceEntry], *, keeps_data: bool, ignored_stacks: frozenset[str]
) -> tuple[Leftover, ...]:
    """Tell the documented leftovers from the others.

    Args:
        added: what exists now and did not exist before the rehearsal.
        entries: everything that happened to resources.
        keeps_data: whether the environment's storage is `persistent`.
        ignored_stacks: stacks that are not destroyed: the bootstrap stack.
    """
    retained = {entry.physical_id: entry for entry in entries if entry.action == "retain" and entry.physical_id}
    left = [_listed(kind, name, retained, keeps_data) for kind, names in added.items() for name in names]
    listed = {name.partition(" ")[0] for names in added.values() for name in names}
    left += [
        _unlisted(entry, keeps_data)
        for entry in deployed(entries)
        if entry.stack not in ignored_stacks and entry.physical_id not in listed
    ]
    return tuple(sorted(left, key=lambda item: (item.documented, item.kind, item.name)))


def deployed(entries: Sequence[ResourceEntry]) -> list[ResourceEntry]:
    """Return the last entry of each resource that was made and is not gone."""
    last: dict[tuple[str, str], ResourceEntry] = {}
    for entry in entries:
        if entry.action in ("delete", "rollback"):
            last.pop(entry.key, None)
        elif entry.action in ("create", "replace", "retain"):
            last[entry.key] = entry
    return list(last.values())


def _listed(kind: str, name: str, retained: dict[str, ResourceEntry], keeps_data: bool) -> Leftover:
    for row in rules().documented:
        if row.kind == kind and fnmatchcase(name, row.name):
            return Leftover(kind=kind, name=name, documented=True, reason=row.reason)
    entry = retained.get(name.partition(" ")[0])
    if entry is None:
        return Leftover(kind=kind, name=name, documented=False, reason="nothing accounts for it")
    return _retained(kind, name, entry, keeps_data)


def _unlisted(entry: ResourceEntry, keeps_data: bool) -> Leftover:
    name = f"{entry.stack}/{entry.logical_id} ({entry.type})"
    if entry.action == "retain":
        # `slipway destroy` may have deleted it since, by the service's own API: the ledger knows of stacks only.
        for row in rules().documented:
            if row.left_by == "a Slurm cluster" and fnmatchcase(entry.physical_id or "", row.name):
                return Leftover(kind="resource", name=name, documented=True, reason=row.reason)
        return _retained("resource", name, entry, keeps_data)
    return Leftover(
        kind="resource", name=name, documented=False, reason="it was created and never deleted, says the ledger"
    )


def _retained(kind: str, name: str, entry: ResourceEntry, keeps_data: bool) -> Leftover:
    kept = known(entry.type).kept_when_persistent
    if kept is not None and keeps_data:
        return Leftover(kind=kind, name=name, documented=True, reason=kept.reason)
    return Leftover(
        kind=kind,
        name=name,
        documented=False,
        reason=f"the DeletionPolicy of {entry.stack}/{entry.logical_id} keeps it",
    )
