"""Alarms look at metrics that the real aws-parallelcluster makes: a renamed one would be silent forever."""

import ast
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from slipway import facts
from slipway.review.judge.parallelcluster_process import PARALLELCLUSTER_PYTHON
from tests.assembly import Assembly

pytestmark = pytest.mark.judge


@cache
def package() -> Path:
    """The folder of the installed aws-parallelcluster."""
    find = "import importlib.util; print(importlib.util.find_spec('pcluster').submodule_search_locations[0])"
    found = subprocess.run([PARALLELCLUSTER_PYTHON, "-c", find], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip())


def texts(file: str) -> set[str]:
    """Every string in a file of aws-parallelcluster."""
    tree = ast.parse((package() / file).read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def watched(assembly: Assembly, namespace: str) -> dict[str, set[str]]:
    """The alarms' metrics of one namespace with the names of their dimensions."""
    alarms: list[Any] = [
        resource["Properties"] for resource in assembly.resources("operations", "AWS::CloudWatch::Alarm").values()
    ]
    return {
        alarm["MetricName"]: {dimension["Name"] for dimension in alarm["Dimensions"]}
        for alarm in alarms
        if alarm.get("Namespace") == namespace
    }


def test_every_metric_of_the_fleet_is_one_that_the_cluster_makes_by_its_name(default: Assembly) -> None:
    metrics = watched(default, "ParallelCluster")
    made = texts("templates/cw_dashboard_builder.py")

    assert len(metrics) == 13
    assert {name for name in metrics if name not in made} == set()
    assert {"ClusterName", "$.cluster-name"} <= made
    assert set(map(frozenset, metrics.values())) == {frozenset({"ClusterName"})}
    assert "ParallelCluster" in texts("constants.py")


def test_the_table_of_metrics_lists_what_the_cluster_makes() -> None:
    listed = {name for namespace, name in facts.metrics() if namespace in ("ParallelCluster", "CWAgent")}
    made = {*texts("templates/cw_dashboard_builder.py"), *texts("templates/cluster_stack.py"), *texts("constants.py")}

    assert listed <= made


def test_the_heartbeat_is_one_that_the_cluster_makes() -> None:
    assert {"ClustermgtdHeartbeat", "ClusterName", "InstanceId"} <= texts("constants.py")


def test_the_head_nodes_agent_sends_what_is_watched(default: Assembly) -> None:
    metrics = watched(default, "CWAgent")
    alarmed = texts("templates/cluster_stack.py")

    assert metrics == {"disk_used_percent": {"InstanceId", "path"}, "mem_used_percent": {"InstanceId"}}
    assert {*metrics, "CWAgent", "InstanceId", "path", "/"} <= alarmed
