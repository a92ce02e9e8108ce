"""What a change says beyond CloudFormation."""

from typing import Any

import pytest

from slipway.catalogue import resource_types
from slipway.review.changes.compare import compare
from slipway.review.changes.facts import notes_of
from slipway.review.changes.model import ResourceChange
from tests.conftest import AssemblyFactory
from tests.review.changes import cluster_pairs, noise_pairs, storage_pairs
from tests.review.changes.pairs import Edit, Pair

PAIRS = {pair.name: pair for pair in (*storage_pairs.PAIRS, *cluster_pairs.PAIRS)}


def first(pair: Pair, assemblies: AssemblyFactory) -> ResourceChange:
    """The first resource that a pair changes by itself."""
    changes = compare(*pair.sides(assemblies(pair.environment).directory))
    return next(change for change in changes.resources if change.caused_by is None)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("the file system grows", ["6 hours"]),
        ("the file system gets faster", ["some minutes"]),
        ("the file system becomes scratch, the old one stays", ["goes on to cost"]),
        ("the file system's logical id", ["was LustreFileSystem46590C25"]),
        ("the database in two zones", ["its data go"]),
        ("the database's class", ["other class"]),
        ("the database grows", ["6 hours"]),
        ("the cluster's name", ["Cannot update the ClusterName"]),
        ("another head node", ["refuses another head node"]),
        ("another Kubernetes version", ["one minor version"]),
        ("a node group's image and size", ["cannot be combined", "replaces all nodes", "smallest number"]),
        ("a chart's values", ["jobset#1205"]),
        ("the endpoint on the internet", ["another address", "from the internet"]),
    ],
)
def test_a_change_says_what_else_to_know(pair: str, words: list[str], assemblies: AssemblyFactory) -> None:
    notes = first(PAIRS[pair], assemblies).notes

    assert len(notes) == len(words)
    assert all(word in note for word, note in zip(words, notes, strict=True))


def _set(stack: str, resource_type: str, **properties: Any) -> Edit:
    return lambda templates: templates.properties(stack, resource_type).update(properties)


def test_a_file_system_cannot_shrink(assemblies: AssemblyFactory) -> None:
    pair = Pair("", "default", _set("storage", storage_pairs.FILE_SYSTEM, StorageCapacity=2400))

    (note,) = first(pair, assemblies).notes
    assert "refuses" in note


def test_a_name_that_stays_stands_in_the_way_of_a_replacement(assemblies: AssemblyFactory) -> None:
    pair = Pair(
        "",
        "default",
        _set("storage", "AWS::IAM::ManagedPolicy", Path="/other/"),
        prepare=_set("storage", "AWS::IAM::ManagedPolicy", ManagedPolicyName="jobs"),
    )

    change = first(pair, assemblies)
    assert change.effect == "replace"
    (note,) = change.notes
    assert "ManagedPolicyName stays the same" in note


def test_another_launch_template_replaces_hosts(assemblies: AssemblyFactory) -> None:
    pair = next(pair for pair in noise_pairs.PAIRS if pair.name == "another script of hosts")
    changes = compare(*pair.sides(assemblies(pair.environment).directory)).resources

    (group,) = (change for change in changes if change.type == "AWS::AutoScaling::AutoScalingGroup")
    assert any("replaces the group's hosts" in note for note in group.notes)


def test_a_new_name_of_a_chart_leaves_the_old_release(assemblies: AssemblyFactory) -> None:
    pair = Pair("", "kubernetes", _set("kubernetes", "Custom::AWSCDK-EKS-HelmChart", Release="jobs"))

    assert any("leaves the one that was there" in note for note in first(pair, assemblies).notes)


def test_every_row_has_its_source_and_its_sentence() -> None:
    notes = [note for name in (*resource_types(), "Custom::Any") for note in notes_of(name)]
    replacing = [row for entry in resource_types().values() for row in entry.replacing_properties]

    assert len(notes) > len(replacing) > 0
    for source in (*(note.source for note in notes), *(row.source for row in replacing)):
        assert source.startswith(("https://", "docs/", "slipway/"))
    assert all(note.note.endswith(".") for note in notes)
