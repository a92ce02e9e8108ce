"""Which keys differ between two environment files, and the file with some of the changes."""

import json
from textwrap import dedent

import pytest

from slipway.config.document import Document, read_document
from slipway.review.lines.difference import key_changes, with_changes

BASE = """
    name: mine
    storage:
      lustre:
        capacity_gib: 1200
    training:
      queues:
        - name: trn1
          max_count: 4
        - name: cpu
          max_count: 2
    inference:
      models: [{name: a}]
    zones: [one, two]
    gone: true
"""
HEAD = """
    # A comment is no change.
    name: mine
    training:
      queues:
        - name: gpu
          max_count: 1
        - name: trn1
          max_count: 8
        - name: cpu
          max_count: 2
    storage:
      lustre:
        capacity_gib: 2400
        throughput: 250
    zones: [two]
    gone: 1
"""


def read(text: str) -> Document:
    return read_document(dedent(text).lstrip("\n"))


def test_each_key_has_its_line_and_values() -> None:
    found = [(one.path, one.line, one.before, one.after) for one in key_changes(read(BASE), read(HEAD))]

    assert found == [
        ("training.queues[gpu]", 5, None, {"name": "gpu", "max_count": 1}),
        ("training.queues[trn1].max_count", 8, 4, 8),
        ("storage.lustre.capacity_gib", 13, 1200, 2400),
        ("storage.lustre.throughput", 14, None, 250),
        ("zones", 15, ("one", "two"), ("two",)),
        ("gone", 16, True, 1),
        ("inference", 11, {"models": ({"name": "a"},)}, None),
    ]


def test_every_change_makes_the_head_of_the_base() -> None:
    base, head = read(BASE), read(HEAD)
    chosen = frozenset(one.key for one in key_changes(base, head))

    assert json.dumps(with_changes(base.value, head.value, chosen), sort_keys=True) == json.dumps(
        head.value, sort_keys=True
    )
    assert with_changes(base.value, head.value, frozenset()) == base.value


@pytest.mark.parametrize("number", range(7))
def test_one_change_is_the_only_difference(number: int) -> None:
    base, head = read(BASE), read(HEAD)
    one = key_changes(base, head)[number]

    alone = read(json.dumps(with_changes(base.value, head.value, frozenset({one.key}))))

    assert [(found.path, found.after) for found in key_changes(base, alone)] == [(one.path, one.after)]


def test_another_order_is_a_change_of_the_list() -> None:
    base = read("queues: [{name: a, n: 1}, {name: b}]")
    head = read("queues: [{name: b}, {name: a, n: 2}]")

    assert [one.path for one in key_changes(base, head)] == ["queues"]


def test_items_without_names_are_one_value() -> None:
    base, head = read("items: [{name: a}, {name: a}]"), read("items: [{name: a}]")

    assert [one.path for one in key_changes(base, head)] == ["items"]
