"""The metrics of our own scripts are those that the scripts send, and every dimension is explained."""

import ast
import re
from collections.abc import Mapping
from typing import Any

import pytest

from slipway import facts
from tests.assembly import PROJECT


def sent_by(source: str) -> dict[tuple[str, str], facts.Metric]:
    """The rows with a source."""
    return {key: row for key, row in facts.metrics().items() if row.source == source}


def constants(file: str) -> dict[str, Any]:
    """The names that a Python file gives to something at its top."""
    tree = ast.parse((PROJECT / file).read_text(encoding="utf-8"))
    space: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            try:
                exec(compile(ast.Module([node], []), file, "exec"), space)
            except NameError:
                continue
    return space


def units(file: str) -> Mapping[str, str]:
    """The metrics of a script with their units."""
    found: Mapping[str, str] = constants(file)["UNITS"]
    return found


@pytest.mark.parametrize("namespace", ["Slipway/Neuron", "Slipway/Inference"])
def test_neuron_metrics_sends_them_from_nodes_and_hosts(namespace: str) -> None:
    rows = sent_by("assets/cluster/neuron_metrics.py")

    assert {name: row.unit for (where, name), row in rows.items() if where == namespace} == units(
        "assets/cluster/neuron_metrics.py"
    )


def test_the_engines_metrics_are_those_of_the_container_beside_it() -> None:
    rows = sent_by("assets/inference/engine_metrics.py")

    assert {name: row.unit for (_, name), row in rows.items()} == units("assets/inference/engine_metrics.py")


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("assets/cluster/health_check.sh", r"MetricName=(\w+),Unit=(\w+)"),
        ("assets/inference/host/host_failed.sh", r"--metric-name (\w+) \\\n\s+--unit (\w+)"),
    ],
)
def test_shell_scripts_send_what_is_listed(file: str, pattern: str) -> None:
    sent = dict(re.findall(pattern, (PROJECT / file).read_text(encoding="utf-8")))

    assert sent
    assert {name: row.unit for (_, name), row in sent_by(file).items()} == sent


def test_a_resource_that_should_have_an_alarm_can_be_found() -> None:
    for (namespace, _), row in facts.metrics().items():
        for dimension in row.alarmed:
            assert facts.metric_dimensions()[namespace, dimension].type
            assert any(dimension in names for names in row.dimensions)


def test_every_explained_dimension_is_one_of_a_metric() -> None:
    used = {
        (namespace, name)
        for (namespace, _), row in facts.metrics().items()
        for dimensions in row.dimensions
        for name in dimensions
    }
    assert set(facts.metric_dimensions()) <= used


def test_bounds_are_those_of_a_dimension() -> None:
    for row in facts.metrics().values():
        for bound in (row.least_of, row.most_of):
            assert bound is None or any(bound.dimension in names for names in row.dimensions)
