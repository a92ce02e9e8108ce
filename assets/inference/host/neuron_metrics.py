"""Sends what neuron-monitor reports to CloudWatch: each minute one statistic set of each metric for this node.

    neuron-monitor -c neuron_monitor.json | neuron_metrics.py SETTINGS | neuron-monitor-prometheus.py --port 8008

Reports come in on stdin, one JSON object in a line (Neuron Monitor User Guide, "The JSON output format"), and go out on
stdout unchanged. SETTINGS says which cluster, part of it, and Region: ParallelCluster's /etc/parallelcluster/cfnconfig,
or the /etc/slipway/host.conf of an inference host.

AWS's own neuron-monitor-cloudwatch.py takes a namespace and a Region but no dimension to group nodes by, and makes some
25 metrics for each node. CloudWatch charges for every combination of name and dimensions, so here the dimensions are
cluster and queue, or ECS service, and CloudWatch adds up the nodes' statistic sets. The details of each NeuronCore are
in Prometheus.

It runs with the operating system's Python, 3.9 and newer, and without any package: the AWS CLI is on every node.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMESPACE = "Slipway/Neuron"
"""Where ParallelCluster's nodes report; an inference host is told."""

REPORTS_PER_MINUTE = 4
"""neuron_monitor.json asks for one in 15 s."""

AWS_SECONDS = 30
"""How long one call of the AWS CLI may take."""

UNITS = {
    "NeuronDevices": "Count",
    "NeuronCoreUtilization": "Percent",
    "NeuronCoresInUse": "Count",
    "DeviceMemoryUtilization": "Percent",
    "HostMemoryUtilization": "Percent",
    "ExecutionErrors": "Count",
    "HardwareErrors": "Count",
    "UncorrectableEccEvents": "Count",
}


def number(tree: Any, *path: str) -> float:
    """Return a number of a report, 0 where the report has none: groups are empty or null while nothing runs."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return float(tree) if isinstance(tree, (int, float)) else 0.0


def percent(part: float, whole: float) -> list[float]:
    """Return a share, or nothing where the whole is not known."""
    return [100 * part / whole] if whole > 0 else []


def runtime_reports(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is reported of each process that uses Neuron devices."""
    return [runtime.get("report") or {} for runtime in report.get("neuron_runtime_data") or []]


def core_utilizations(report: dict[str, Any]) -> dict[str, float]:
    """Return the utilization in percent of each NeuronCore that a process holds, by its index."""
    held: dict[str, float] = {}
    for runtime in runtime_reports(report):
        for index, core in ((runtime.get("neuroncore_counters") or {}).get("neuroncores_in_use") or {}).items():
            held[index] = max(held.get(index, 0.0), number(core, "neuroncore_utilization"))
    return held


def logical_cores(hardware: dict[str, Any]) -> int:
    """Return how many NeuronCores processes can hold: logical ones, which neuron-monitor counts itself on Trn2."""
    return int(number(hardware, "neuron_device_count") * number(hardware, "neuroncore_per_device_count"))


def samples(report: dict[str, Any]) -> dict[str, list[float]]:
    """Return the values of one report, without the error counters of the hardware."""
    hardware = report.get("neuron_hardware_info") or {}
    system = report.get("system_data") or {}
    runtimes = runtime_reports(report)
    held = core_utilizations(report)
    idle = max(0, logical_cores(hardware) - len(held))
    device_memory = sum(
        number(runtime, "memory_used", "neuron_runtime_used_bytes", "neuron_device") for runtime in runtimes
    )
    outcomes = [(runtime.get("execution_stats") or {}).get("execution_summary") or {} for runtime in runtimes]
    return {
        "NeuronDevices": [number(hardware, "neuron_device_count")],
        "NeuronCoreUtilization": [*held.values(), *[0.0] * idle],
        "NeuronCoresInUse": [float(len(held))],
        "DeviceMemoryUtilization": percent(
            device_memory,
            number(hardware, "neuron_device_count") * number(hardware, "neuron_device_memory_size"),
        ),
        "HostMemoryUtilization": percent(
            number(system, "memory_info", "memory_used_bytes"), number(system, "memory_info", "memory_total_bytes")
        ),
        "ExecutionErrors": [
            sum(number(outcome, name) for outcome in outcomes for name in outcome if name != "completed")
        ],
        "HardwareErrors": [
            sum(number(runtime, "execution_stats", "error_summary", "hardware") for runtime in runtimes)
        ],
    }


def ecc_events(report: dict[str, Any]) -> float | None:
    """Return the uncorrected events of DRAM and SRAM of all devices, or nothing where they are not reported."""
    devices = ((report.get("system_data") or {}).get("neuron_hw_counters") or {}).get("neuron_devices")
    if not devices:
        return None
    return sum(number(device, "mem_ecc_uncorrected") + number(device, "sram_ecc_uncorrected") for device in devices)


@dataclass
class NodeMetrics:
    """The metrics of this node, minute by minute."""

    known_ecc_events: float | None = None
    """Running total of the last report."""

    values: dict[str, list[float]] = field(default_factory=dict)
    reports: int = 0

    def add(self, report: dict[str, Any]) -> None:
        """Take in a report."""
        self.reports += 1
        for name, found in samples(report).items():
            self.values.setdefault(name, []).extend(found)
        events = ecc_events(report)
        if events is not None:
            # The total is that since the driver was loaded; what was there at the start is the health check's matter.
            before = events if self.known_ecc_events is None else self.known_ecc_events
            self.values.setdefault("UncorrectableEccEvents", []).append(max(0.0, events - before))
            self.known_ecc_events = events

    def take_minute(self) -> dict[str, list[float]]:
        """Return the minute's samples and begin the next minute.

        Counters are added up and other values of the whole node are the minute's largest, so that the number of samples
        is the number of nodes; utilization has one sample for each NeuronCore and report.
        """
        minute: dict[str, list[float]] = {}
        for name, found in self.values.items():
            if name == "NeuronCoreUtilization":
                minute[name] = found
            elif name in {"ExecutionErrors", "HardwareErrors", "UncorrectableEccEvents"}:
                minute[name] = [sum(found)]
            elif found:
                minute[name] = [max(found)]
        self.values = {}
        self.reports = 0
        return minute


def metric_data(minute: dict[str, list[float]], cluster: str, part: str, kind: str = "Queue") -> list[dict[str, Any]]:
    """Return the `MetricData` of CloudWatch's PutMetricData: everything for the part and for the whole cluster."""
    of_cluster = {"Name": "ClusterName", "Value": cluster}
    of_part = {"Name": kind, "Value": part}
    return [
        {
            "MetricName": name,
            "Unit": UNITS[name],
            "Dimensions": dimensions,
            "StatisticValues": {
                "SampleCount": len(found),
                "Sum": round(sum(found), 3),
                "Minimum": round(min(found), 3),
                "Maximum": round(max(found), 3),
            },
        }
        for name, found in minute.items()
        if found
        for dimensions in ([of_cluster], [of_cluster, of_part])
    ]


def send(data: list[dict[str, Any]], region: str, namespace: str) -> None:
    """Send to CloudWatch; a minute that is lost is said, and no reason to stop."""
    command = ["aws", "cloudwatch", "put-metric-data", "--region", region, "--namespace", namespace]
    try:
        subprocess.run(
            [*command, "--metric-data", json.dumps(data)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=AWS_SECONDS,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        print(f"CloudWatch refused a minute's metrics: {error.stderr.strip()}", file=sys.stderr, flush=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"a minute's metrics are lost: {error}", file=sys.stderr, flush=True)


def passed_on(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Print each line and yield its report; what is no report is said."""
    for line in lines:
        print(line, end="", flush=True)
        try:
            report = json.loads(line)
        except ValueError:
            report = None
        if isinstance(report, dict):
            yield report
        else:
            print(f"not a report of neuron-monitor: {line[:200].strip()}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Node:
    """What a node is a part of."""

    region: str
    namespace: str
    cluster: str
    kind: str
    """Dimension that names the part of the cluster."""

    part: str


def node(settings_file: str) -> Node:
    """Return what the node's settings say, `KEY=VALUE` in each line.

    Raises:
        KeyError: they are neither ParallelCluster's nor those of an inference host.
    """
    pairs = (line.partition("=") for line in Path(settings_file).read_text(encoding="utf-8").splitlines())
    settings = {key: value.strip('"') for key, _, value in pairs}
    if "SLIPWAY_ECS_CLUSTER" in settings:
        return Node(
            region=settings["SLIPWAY_REGION"],
            namespace=settings["SLIPWAY_METRICS_NAMESPACE"],
            cluster=settings["SLIPWAY_ECS_CLUSTER"],
            kind="ServiceName",
            part=settings["SLIPWAY_SERVICE"],
        )
    return Node(
        region=settings["cfn_region"],
        namespace=NAMESPACE,
        cluster=settings["stack_name"],
        kind="Queue",
        part=settings["cfn_scheduler_queue_name"],
    )


def main(settings_file: str) -> int:
    """Pass reports on until neuron-monitor or the exporter ends; either is a failure, as the service runs both."""
    here = node(settings_file)
    metrics = NodeMetrics()
    try:
        for report in passed_on(sys.stdin):
            metrics.add(report)
            if metrics.reports == REPORTS_PER_MINUTE:
                data = metric_data(metrics.take_minute(), here.cluster, here.part, here.kind)
                send(data, here.region, here.namespace)
    except BrokenPipeError:
        print("the Prometheus exporter ended", file=sys.stderr, flush=True)
        return 1
    print("neuron-monitor ended", file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
