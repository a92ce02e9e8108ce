"""Every pair: all replacements, data losses and broadenings, and nothing else."""

from functools import cache
from pathlib import Path

import pytest

from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.catalogue import resource_types
from slipway.review.changes.compare import compare
from slipway.review.changes.model import Changes
from slipway.review.changes.references import Reader
from slipway_emulator.stacks.registry import replacing_properties
from tests.conftest import AssemblyFactory
from tests.review.changes import cluster_pairs, noise_pairs, permission_pairs, protection_pairs, storage_pairs
from tests.review.changes.pairs import Pair, folded, own

PAIRS = (
    *storage_pairs.PAIRS,
    *cluster_pairs.PAIRS,
    *permission_pairs.PAIRS,
    *protection_pairs.PAIRS,
    *noise_pairs.PAIRS,
)


@cache
def _changes(pair: Pair, folder: Path) -> Changes:
    return compare(*pair.sides(folder))


def _name(pair: Pair) -> str:
    return pair.name.replace(" ", "-")


@pytest.mark.parametrize("pair", PAIRS, ids=_name)
def test_a_pair_says_all_that_changes_and_nothing_else(pair: Pair, assemblies: AssemblyFactory) -> None:
    changes = _changes(pair, assemblies(pair.environment).directory)

    assert own(changes) == sorted(pair.own)
    assert folded(changes) == sorted(pair.folded)
    assert sorted(f"{row.kind}: {row.what}" for row in changes.broadenings) == sorted(pair.broader)
    assert sorted(key.rpartition("/")[2] for key in changes.asset_changes) == sorted(pair.assets)


HARMS = {
    "SSH from everywhere": {"public"},
    "the Kubernetes API on the internet": {"cluster"},
    "the endpoint on the internet": {"public"},
    "a bucket for everyone": {"public"},
    "any action on the data": {"permissions"},
    "tasks that ask for no key and speak no TLS": {"unauthenticated"},
    "a database on the internet without backups": {"public", "data_loss"},
    "more ports": {"network"},
}
"""What may happen, of pairs that show one kind of row each: by a rule's peer, a policy's principals, a fact's row."""


@pytest.mark.parametrize("name", HARMS)
def test_what_is_broader_has_its_harm(name: str, assemblies: AssemblyFactory) -> None:
    [pair] = [pair for pair in PAIRS if pair.name == name]

    assert {row.harm for row in _changes(pair, assemblies(pair.environment).directory).broadenings} == HARMS[name]


@pytest.mark.parametrize("pair", PAIRS, ids=_name)
def test_the_resource_schemas_agree(pair: Pair, assemblies: AssemblyFactory) -> None:
    """What cfn-lint's copies of the schemas say replaces a resource; the rehearsal goes by them."""
    folder = assemblies(pair.environment).directory
    base, head = pair.sides(folder)
    of_facts = {
        (name, row.path.partition(".")[0])
        for name, entry in resource_types().items()
        for row in entry.replacing_properties
    }
    before = {(stack.name, key): row for stack in base for key, row in stack.template["Resources"].items()}
    old, new = Reader(base), Reader(head)
    region = head[0].region

    for change in _changes(pair, folder).resources:
        name = change.stack, change.logical_id
        if change.caused_by or name not in before or change.effect not in ("update", "replace"):
            continue
        after = next(stack for stack in head if stack.name == change.stack).template["Resources"][change.logical_id]
        found = replacing_properties(
            change.type,
            region,
            old.read(before[name].get("Properties", {}), change.stack),
            new.read(after.get("Properties", {}), change.stack),
        )
        told = {row.path.partition(".")[0].partition("[")[0] for row in change.properties if row.effect == "replace"}
        assert {top for top in told if (change.type, top) not in of_facts} == set(found)
        assert change.type != CLUSTER_TYPE or not found
