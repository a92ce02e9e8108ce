"""What becomes of neuron-monitor's reports on the way to CloudWatch."""

from __future__ import annotations

from typing import Any

import pytest

from assets.cluster.neuron_metrics import UNITS, NodeMetrics, logical_cores, metric_data
from tests.assets.neuron_reports import report


def minute(*reports: dict[str, Any]) -> dict[str, list[float]]:
    metrics = NodeMetrics()
    for each in reports:
        metrics.add(each)
    return metrics.take_minute()


def test_a_busy_node() -> None:
    assert minute(*[report()] * 4) == {
        "NeuronDevices": [16],
        "NeuronCoreUtilization": [50.0] * 32 * 4,
        "NeuronCoresInUse": [32],
        "DeviceMemoryUtilization": [25.0],
        "HostMemoryUtilization": [12.5],
        "ExecutionErrors": [0],
        "HardwareErrors": [0],
        "UncorrectableEccEvents": [0],
    }


def test_cores_that_nobody_holds_count_as_idle() -> None:
    found = minute(report(cores=8, utilization=100))

    assert sorted(found["NeuronCoreUtilization"]) == [0.0] * 24 + [100.0] * 8
    assert found["NeuronCoresInUse"] == [8]


def test_an_idle_node_still_reports_its_devices() -> None:
    found = minute(report(cores=0))

    assert found["NeuronDevices"] == [16]
    assert found["NeuronCoreUtilization"] == [0.0] * 32


def test_errors_of_a_minute_are_added_up() -> None:
    found = minute(report(failed=1), report(failed=2), report(hardware_errors=3))

    assert found["ExecutionErrors"] == [6]
    assert found["HardwareErrors"] == [3]


def test_a_core_is_counted_once_when_two_processes_report_it() -> None:
    shared = report(cores=1, utilization=10)
    shared["neuron_runtime_data"] *= 2

    assert minute(shared)["NeuronCoresInUse"] == [1]


def test_only_new_ecc_events_count_and_over_the_end_of_a_minute_too() -> None:
    metrics = NodeMetrics()
    metrics.add(report(ecc=1))
    assert metrics.take_minute()["UncorrectableEccEvents"] == [0]

    metrics.add(report(ecc=2))
    metrics.add(report(ecc=2))

    # One more on each of 16 devices.
    assert metrics.take_minute()["UncorrectableEccEvents"] == [16]


def test_a_counter_that_starts_anew_is_no_event() -> None:
    assert minute(report(ecc=2), report(ecc=0))["UncorrectableEccEvents"] == [0]


def test_the_cores_of_trn2_are_logical_ones_already() -> None:
    # aws-neuron-sdk of 2026-08-21 (81ce03a), tools/neuron-sys-tools/neuron-monitor-user-guide.rst, line 292.
    hardware = {"neuron_device_count": 16, "neuroncore_per_device_count": 4, "logical_neuroncore_config": 2}

    assert logical_cores(hardware) == 64


@pytest.mark.parametrize(
    "empty",
    [
        {},
        {"neuron_runtime_data": None, "system_data": None, "neuron_hardware_info": None},
        {"neuron_runtime_data": [{"pid": 1, "report": {"execution_stats": None, "memory_used": None}}]},
        {"neuron_hardware_info": {"error": "the driver is not loaded"}},
    ],
)
def test_groups_that_are_missing_or_null_give_zeros_or_nothing(empty: dict[str, Any]) -> None:
    found = minute(empty)

    assert found["NeuronDevices"] == [0]
    assert found["NeuronCoreUtilization"] == []
    assert "DeviceMemoryUtilization" not in found
    assert "UncorrectableEccEvents" not in found


def test_each_metric_goes_to_the_cluster_and_to_the_queue_as_a_statistic_set() -> None:
    data = metric_data(minute(report(cores=8, utilization=100)), "team", "train")

    assert {datum["MetricName"]: datum["Unit"] for datum in data} == UNITS
    utilization = [datum for datum in data if datum["MetricName"] == "NeuronCoreUtilization"]
    assert [datum["Dimensions"] for datum in utilization] == [
        [{"Name": "ClusterName", "Value": "team"}],
        [{"Name": "ClusterName", "Value": "team"}, {"Name": "Queue", "Value": "train"}],
    ]
    assert utilization[0]["StatisticValues"] == {"SampleCount": 32, "Sum": 800.0, "Minimum": 0.0, "Maximum": 100.0}


def test_a_metric_without_a_sample_is_left_out() -> None:
    assert {datum["MetricName"] for datum in metric_data(minute({}), "team", "train")} == {
        "NeuronDevices",
        "NeuronCoresInUse",
        "ExecutionErrors",
        "HardwareErrors",
    }
