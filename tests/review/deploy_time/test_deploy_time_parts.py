"""Chains in a template and turns of stacks, whatever depends on what."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slipway.review.deploy_time.chains import longest_chain, seconds_of, waits_for
from slipway.review.deploy_time.model import Step
from slipway.review.deploy_time.turns import take_turns


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Seconds by name, and what each name waits for: only for those that came before it."""
    seconds = draw(st.lists(st.integers(0, 1000), min_size=1, max_size=12))
    names = [f"stack{index}" for index in range(len(seconds))]
    waits = {
        name: set(draw(st.lists(st.sampled_from(names[:index])))) if index else set()
        for index, name in enumerate(names)
    }
    return dict(zip(names, seconds, strict=True)), waits


def steps(seconds: dict[str, int]) -> dict[str, Step]:
    """A step for each name."""
    return {
        name: Step(stack="one", logical_id=name, type="Custom::It", seconds=taken, is_known=True)
        for name, taken in seconds.items()
    }


def test_a_resource_waits_for_all_that_it_names() -> None:
    resources: dict[str, dict[str, Any]] = {
        "Vpc": {"Type": "AWS::EC2::VPC"},
        "Gateway": {"Type": "AWS::EC2::InternetGateway"},
        "Bucket": {"Type": "AWS::S3::Bucket"},
        "Role": {"Type": "AWS::IAM::Role"},
        "It": {
            "Type": "Custom::It",
            "DependsOn": "Gateway",
            "Properties": {
                "Vpc": [{"Ref": "Vpc"}, {"Ref": "AWS::Region"}],
                "Arn": {"Fn::Sub": "arn:${AWS::Partition}:s3:::${Bucket.Name}/${!It}"},
                "Role": {"Fn::Sub": ["${Name}", {"Name": {"Fn::GetAtt": ["Role", "Arn"]}}]},
            },
        },
        "Last": {"Type": "Custom::It", "DependsOn": ["It", "Vpc"]},
    }

    assert waits_for(resources)["It"] == {"Gateway", "Vpc", "Bucket", "Role"}
    assert waits_for(resources)["Last"] == {"It", "Vpc"}
    assert waits_for(resources)["Vpc"] == set()


@given(graphs())
def test_the_longest_chain_is_one_and_none_is_longer(graph: tuple[dict[str, int], dict[str, set[str]]]) -> None:
    seconds, waits = graph
    chain = longest_chain(waits, steps(seconds))
    longest: dict[str, int] = {}
    for name in seconds:  # each waits for earlier ones alone
        longest[name] = seconds[name] + max((longest[other] for other in waits[name]), default=0)

    assert seconds_of(chain) == max(longest.values())
    assert all(before.logical_id in waits[after.logical_id] for before, after in pairwise(chain))


@given(graphs(), st.integers(1, 5))
def test_turns_keep_the_order_and_the_limit(graph: tuple[dict[str, int], dict[str, set[str]]], at_once: int) -> None:
    seconds, waits = graph
    turns = take_turns(seconds, waits, at_once)
    end = max(turn.finish for turn in turns.values())

    assert turns.keys() == seconds.keys()
    for name, turn in turns.items():
        assert turn.finish - turn.start == seconds[name]
        assert all(turns[other].finish <= turn.start for other in waits[name])
        assert turn.start == (turns[turn.after].finish if turn.after else 0)
        running = [other for other in turns.values() if other.start <= turn.start < other.finish]
        assert len(running) <= at_once
    assert seconds_of(longest_chain(waits, steps(seconds))) <= end <= sum(seconds.values())
    if at_once == 1:
        assert end == sum(seconds.values())
