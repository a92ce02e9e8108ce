"""Resources that changed nothing but their logical id.

CloudFormation knows a resource by its logical id alone: with another one it makes a second resource and deletes the
first. Whoever refers to it sees a new value. A plain comparison would show two resources that have nothing to do with
each other, and a change of every reference.
"""

import json
from collections import defaultdict
from collections.abc import Mapping

from slipway.review.changes.references import renamed
from slipway.review.changes.resources import Resource

_MOST_ROUNDS = 10


def find_renames(base: Mapping[str, Resource], head: Mapping[str, Resource]) -> dict[str, str]:
    """Return the new `stack/logical id` by the old one.

    Two are one when they are in the same stack, of the same type, and have the same place in the construct tree or the
    same properties. References to other renamed resources count as the same, which takes a round for each level.
    """
    names: dict[str, str] = {}
    for _ in range(_MOST_ROUNDS):
        gone = {key: resource for key, resource in base.items() if key not in head and key not in names}
        taken = set(names.values())
        new = {key: resource for key, resource in head.items() if key not in base and key not in taken}
        found = _same_place(gone, new) or _same_properties(gone, new, names)
        if not found:
            break
        names |= found
    return names


def _same_place(gone: Mapping[str, Resource], new: Mapping[str, Resource]) -> dict[str, str]:
    places = {(row.stack, row.type, row.construct_path): key for key, row in new.items()}
    pairs = {key: places.get((row.stack, row.type, row.construct_path)) for key, row in gone.items()}
    return {old: key for old, key in pairs.items() if key is not None}


def _same_properties(
    gone: Mapping[str, Resource], new: Mapping[str, Resource], names: Mapping[str, str]
) -> dict[str, str]:
    def by_template(resources: Mapping[str, Resource]) -> dict[tuple[str, str], list[str]]:
        groups = defaultdict(list)
        for key, row in resources.items():
            groups[row.stack, json.dumps(renamed(row.settled, names), sort_keys=True)].append(key)
        return groups

    old, other = by_template(gone), by_template(new)
    return {
        before: after
        for template in old.keys() & other.keys()
        if len(old[template]) == len(other[template])
        for before, after in zip(sorted(old[template]), sorted(other[template]), strict=True)
    }
