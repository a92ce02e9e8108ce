"""Conditions of templates: what they are is compared, not what they are called."""

from typing import Any

from slipway.assembly.stacks import Stack
from slipway.review.changes.compare import compare
from slipway.review.changes.model import ResourceChange

TOPIC: dict[str, Any] = {"Type": "AWS::SNS::Topic", "Condition": "IsLarge"}
SERVICE: dict[str, Any] = {"Type": "AWS::ECS::Service", "Properties": {"DesiredCount": {"Fn::If": ["IsLarge", 4, 1]}}}


def _changes(resource: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> tuple[ResourceChange, ...]:
    base, head = (
        Stack(
            "one",
            "us-west-2",
            {"Resources": {"It": resource}, "Conditions": conditions},
            {},
            termination_protection=False,
        )
        for conditions in (before, after)
    )
    return compare((base,), (head,)).resources


def _large(word: str) -> dict[str, Any]:
    return {"IsLarge": {"Fn::Equals": [{"Ref": "Size"}, word]}}


def test_another_definition_may_make_or_delete_a_resource() -> None:
    (change,) = _changes(TOPIC, _large("xl"), _large("xxl"))

    assert [row.path for row in change.properties] == ["Condition"]
    assert any("may come or go" in note for note in change.notes)


def test_another_definition_changes_a_value() -> None:
    (change,) = _changes(SERVICE, _large("xl"), _large("xxl"))

    assert [row.path for row in change.properties] == ["DesiredCount.Fn::If[0]"]


def test_another_definition_behind_a_definition_counts() -> None:
    both = {"Fn::And": [{"Condition": "IsBig"}, {"Fn::Equals": [{"Ref": "Kind"}, "gpu"]}]}
    before, after = ({"IsLarge": both, "IsBig": _large(word)["IsLarge"]} for word in ("xl", "xxl"))

    assert [change.logical_id for change in _changes(TOPIC, before, after)] == ["It"]


def test_another_name_of_a_condition_is_no_change() -> None:
    other = {**TOPIC, "Condition": "IsBig"}
    base, head = (
        Stack(
            "one",
            "us-west-2",
            {"Resources": {"It": resource}, "Conditions": conditions},
            {},
            termination_protection=False,
        )
        for resource, conditions in ((TOPIC, _large("xl")), (other, {"IsBig": _large("xl")["IsLarge"]}))
    )

    assert compare((base,), (head,)).is_empty
