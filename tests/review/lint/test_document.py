"""The reader: as ParallelCluster and CloudFormation read a file, with the place of every value."""

from typing import Any

import pytest

from slipway.config.unreadable import Position, UnreadableDocument
from slipway.review.lint.document import MAXIMUM_VALUES, read_document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: yes\nb: 'yes'\nc: 010\nd: 2026-01-31\ne:", {"a": True, "b": "yes", "c": 8, "d": "2026-01-31", "e": None}),
        ("a: !Ref Subnet", {"a": {"Ref": "Subnet"}}),
        ("a: !GetAtt Key.Arn", {"a": {"Fn::GetAtt": ["Key", "Arn"]}}),
        ("a: !Join ['', [s3://, !Ref B]]", {"a": {"Fn::Join": ["", ["s3://", {"Ref": "B"}]]}}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("d:\n  <<: [{b: 1}, {b: 2, c: 3}]", {"d": {"b": 1, "c": 3}}),
        ("", None),
        ("a: {{ os }}\nb: [{{x}}, '{{ y }}']", {"a": "{{ os }}", "b": ["{{ x }}", "{{ y }}"]}),
        ("a: {b: {c: }}", {"a": {"b": {"c": None}}}),
        ('{"a": [1]}', {"a": [1]}),
        ("a: 2026-13-40", {"a": "2026-13-40"}),
    ],
)
def test_values_are_read_as_yaml_1_1_and_cloudformation_mean_them(text: str, value: Any) -> None:
    assert read_document(text).value == value


def test_every_value_has_its_place() -> None:
    document = read_document("HeadNode:\n  Ssh: {AllowedIps: 0.0.0.0/0}\nSharedStorage:\n- Name: a\n")
    assert document.position(("HeadNode", "Ssh", "AllowedIps")) == Position(2, 21)
    assert document.position(("SharedStorage", 0, "Name")) == Position(4, 9)
    assert document.position(("SharedStorage", 0, "Missing")) == Position(4, 3)


def test_a_key_that_stands_twice_is_a_flaw_at_its_second_place() -> None:
    document = read_document("SharedStorage: [1]\nRegion: a\nSharedStorage: [2]\n")
    [flaw] = document.flaws
    assert flaw.position == Position(3, 1)
    assert "a second time" in flaw.message
    assert "Line 1 has it already" in flaw.fix
    assert document.value["SharedStorage"] == [2]


def test_a_key_that_is_no_text_is_a_flaw() -> None:
    [flaw] = read_document("? [a]\n: b\nc: d").flaws
    assert flaw.position == Position(1, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c", "there is a ':' where none can be"),
        ("a: 1\n---\nb: 2", "a second document begins here"),
        ("a: *missing", "found undefined alias"),
        ("a: !!python/object:os.system x", "could not determine a constructor"),
        ("a: \x07", "U+0007 is not allowed"),
        ("a: " + "[" * 80 + "]" * 80, "levels of nesting"),
        ("a: " + "[" * 20_000, "more than 50 levels of nesting"),
        ("a: " + "{" * 90_000, "more than 50 levels of nesting"),
        ("&a [*a]", "levels of nesting"),
    ],
)
def test_what_is_no_document_is_said_in_a_sentence(text: str, message: str) -> None:
    with pytest.raises(UnreadableDocument) as refused:
        read_document(text)
    assert message in refused.value.flaw.message


@pytest.mark.parametrize("merge", ["*x", "{<<: *x}"])
def test_aliases_cannot_make_a_small_file_large(merge: str) -> None:
    lines = ["a0: &x0 {k: v}"]
    lines += [f"a{n}: &x{n} [{', '.join([merge.replace('x', f'x{n - 1}')] * 9)}]" for n in range(1, 9)]
    with pytest.raises(UnreadableDocument, match=f"more than {MAXIMUM_VALUES} values"):
        read_document("\n".join(lines))
