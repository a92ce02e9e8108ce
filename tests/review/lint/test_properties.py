"""Whatever stands in a file, the linter answers."""

import copy
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway.assembly.context import Context
from slipway.assembly.templates import Templates
from slipway.review.lint.files import lint_text
from slipway.review.lint.rules import run_rules
from tests.review.lint.configurations import MINIMAL, cluster

KEYS = st.sampled_from(
    ["HeadNode", "Scheduling", "SlurmQueues", "Networking", "Iam", "Script", "Ref", "Fn::Join", "Fn::Sub", "MaxCount"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | KEYS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=4)
)


def _places(value: Any) -> list[tuple[str | int, ...]]:
    """Every place in a configuration, the root too."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *below) for key, item in items for below in _places(item))]


PLACES = st.sampled_from([place for place in _places(MINIMAL) if place])


def _with(place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    configuration = copy.deepcopy(MINIMAL)
    holder: Any = configuration
    for part in place[:-1]:
        holder = holder[part]
    holder[place[-1]] = value
    return configuration


@given(place=PLACES, value=VALUES)
@settings(max_examples=300)
def test_anything_anywhere_in_a_configuration_is_answered(place: tuple[str | int, ...], value: Any) -> None:
    run_rules(cluster(_with(place, value)))


@given(text=st.text(max_size=200) | VALUES.map(lambda value: yaml.safe_dump(value, allow_unicode=True)))
@settings(max_examples=200)
def test_any_text_is_answered_with_a_report(text: str) -> None:
    report = lint_text(text, "file", Context())
    assert report.problems or report.not_checked


@given(resources=VALUES, properties=VALUES)
@settings(max_examples=200)
def test_any_template_is_answered(resources: Any, properties: Any) -> None:
    types = ("AWS::EC2::Subnet", "AWS::IAM::ManagedPolicy", "AWS::FSx::FileSystem", "Custom::CDKBucketDeployment")
    template = {
        "Parameters": resources,
        "Outputs": resources,
        "Mappings": resources,
        "Resources": {
            "Cluster": {"Type": "Custom::PclusterCluster", "Properties": {"ClusterConfiguration": properties}},
            "Odd": resources,
            **{f"R{number}": {"Type": kind, "Properties": properties} for number, kind in enumerate(types)},
        },
    }
    [found] = Templates({"stack": template}).clusters()
    run_rules(found.cluster)
