"""The service with neuron-monitor: its parts on /apps, its start on a node, and the pipeline that it runs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.assets.neuron_reports import report
from tests.assets.sandbox import ASSETS, Outcome, Sandbox

CLUSTER = ASSETS / "cluster"
UNIT = CLUSTER / "slipway-neuron-monitor.service"
PIP = """
while [[ "$1" != --target ]]; do shift; done
mkdir -p "$2/prometheus_client"
"""


class MonitoredNode(Sandbox):
    """A node on which single functions of the set-up run."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.stub("python3.10", PIP)
        self.stub("systemctl")
        self.harness = directory / "harness.sh"
        self.harness.write_text(
            f"set -euo pipefail\nSCRIPT_DIRECTORY={CLUSTER} PIP_SECONDS=0\n"
            'for part in steps health neuron_monitor; do source "$SCRIPT_DIRECTORY/$part.sh"; done\n"$@"\n',
            encoding="utf-8",
        )

    def call(self, function: str, *arguments: str) -> Outcome:
        """Run a function of the set-up scripts."""
        return self.run(self.harness, function, *arguments, SLIPWAY_SETUP_SECONDS="60")


@pytest.fixture
def node(tmp_path: Path) -> MonitoredNode:
    return MonitoredNode(tmp_path)


def prepare(node: MonitoredNode) -> None:
    """Put onto /apps what the head node puts there, and Neuron's tools onto the node."""
    assert node.call("install_monitor_environment", "python3.10").status == 0
    node.write("/opt/aws/neuron/bin/neuron-monitor")


def test_the_exporters_package_is_installed_with_its_hash_and_once(node: MonitoredNode) -> None:
    first = node.call("install_monitor_environment", "python3.10")
    files = node.snapshot()
    second = node.call("install_monitor_environment", "python3.10")

    (pip,) = first.calls_of("python3.10")
    assert "--require-hashes" in pip
    assert second.calls == []
    assert node.snapshot() == files
    assert (node.root / "apps/slipway/neuron_monitor/python/prometheus_client").is_dir()


def test_changed_pins_are_installed_anew(node: MonitoredNode) -> None:
    prepare(node)
    node.write("/apps/slipway/neuron_monitor/python/requirements.txt", "prometheus-client==0.20.0\n")

    assert node.call("install_monitor_environment", "python3.10").calls_of("python3.10")


def test_a_missing_package_is_said_and_does_not_end_the_head_nodes_set_up(node: MonitoredNode) -> None:
    node.stub("python3.10", "exit 1")

    outcome = node.call("install_monitor_environment", "python3.10")

    assert outcome.status == 0
    assert "NO NEURON METRICS" in outcome.stderr


def test_a_node_starts_the_service_at_each_boot(node: MonitoredNode) -> None:
    prepare(node)

    outcome = node.call("start_neuron_monitor")

    assert outcome.stderr == ""
    assert outcome.calls_of("systemctl") == [
        "systemctl daemon-reload",
        "systemctl enable --quiet --now slipway-neuron-monitor.service",
    ]
    assert node.read("/etc/systemd/system/slipway-neuron-monitor.service") == UNIT.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "missing",
    [
        "opt/aws/neuron/bin/neuron-monitor",
        "apps/slipway/neuron_monitor/slipway-neuron-monitor.service",
        "apps/slipway/neuron_monitor/python/requirements.txt",
    ],
)
def test_a_node_without_a_part_of_it_trains_without_metrics(node: MonitoredNode, missing: str) -> None:
    prepare(node)
    (node.root / missing).unlink()

    outcome = node.call("start_neuron_monitor")

    assert outcome.status == 0
    assert "NO NEURON METRICS" in outcome.stderr
    assert missing in outcome.stderr
    assert not outcome.calls_of("systemctl")


def test_a_service_that_does_not_start_is_said_and_does_not_end_the_node(node: MonitoredNode) -> None:
    prepare(node)
    node.stub("systemctl", '[[ "$1" != enable ]]')

    outcome = node.call("start_neuron_monitor")

    assert outcome.status == 0
    assert "NO NEURON METRICS" in outcome.stderr


def test_the_service_comes_back_whatever_ended_it_and_has_a_limit_of_memory() -> None:
    unit = UNIT.read_text(encoding="utf-8")

    for line in ("Restart=always", "StartLimitIntervalSec=0", "MemoryMax=1G"):
        assert f"\n{line}\n" in unit


def test_all_metric_groups_that_are_read_are_asked_for() -> None:
    config = json.loads((CLUSTER / "neuron_monitor.json").read_text(encoding="utf-8"))
    read = re.findall(
        r'"(neuroncore_counters|execution_stats|memory_used|memory_info|neuron_hw_counters)"',
        (CLUSTER / "neuron_metrics.py").read_text(encoding="utf-8"),
    )

    groups = [*config["neuron_runtimes"][0]["metrics"], *config["system_metrics"]]
    assert set(read) <= {group["type"] for group in groups}
    assert config["period"] == "15s"


class Pipeline:
    """The service's command, with the paths of a directory in the place of the node's."""

    def __init__(self, directory: Path) -> None:
        self.root = directory
        self.seen = directory / "seen"
        for folder in ("opt/aws/neuron/bin", "apps/slipway/neuron_monitor", "etc/parallelcluster", "stubs"):
            (directory / folder).mkdir(parents=True)
        (directory / "etc/parallelcluster/cfnconfig").write_text(
            "stack_name=team\ncfn_region=us-east-1\ncfn_scheduler_queue_name=train\n", encoding="utf-8"
        )
        for name in ("neuron_metrics.py", "neuron_monitor.json"):
            (directory / "apps/slipway/neuron_monitor" / name).symlink_to(CLUSTER / name)
        (directory / "opt/aws/neuron/bin/neuron-monitor-prometheus.py").write_text(
            f"import sys\nfor line in sys.stdin:\n    open({str(self.seen)!r}, 'a').write(sys.argv[-1] + ' ' + line)\n",
            encoding="utf-8",
        )
        self.program("stubs/aws", f"printf '%s\\n' \"$*\" >>{directory}/aws_calls")

    def program(self, path: str, body: str) -> None:
        """Write a program, a piece of Bash."""
        (self.root / path).write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        (self.root / path).chmod(0o755)

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run the command of ExecStart until it ends by itself."""
        (line,) = [line for line in UNIT.read_text(encoding="utf-8").splitlines() if line.startswith("ExecStart=")]
        *options, command = shlex.split(line.removeprefix("ExecStart="))
        for path in ("/opt/aws", "/apps", "/etc/parallelcluster"):
            command = command.replace(path, f"{self.root}{path}")
        return subprocess.run(
            [*options, command.replace("/usr/bin/python3", sys.executable)],
            env={"PATH": f"{self.root}/stubs:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def metrics_sent(self) -> list[dict[str, object]]:
        """Return the MetricData of each call of CloudWatch."""
        calls = (self.root / "aws_calls").read_text(encoding="utf-8").splitlines()
        start = "cloudwatch put-metric-data --region us-east-1 --namespace Slipway/Neuron --metric-data "
        assert all(call.startswith(start) for call in calls)
        return [json.loads(call.removeprefix(start)) for call in calls]


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path)


def reporting(count: int) -> str:
    return (
        f"[[ $1 == -c && -r $2 ]] && for ((n = 0; n < {count}; n++)); do echo {shlex.quote(json.dumps(report()))}; done"
    )


def test_every_fourth_report_is_a_minute_for_cloudwatch_and_each_goes_to_prometheus(pipeline: Pipeline) -> None:
    pipeline.program("opt/aws/neuron/bin/neuron-monitor", reporting(8))

    ended = pipeline.run()

    # systemd starts a service again that ended.
    assert ended.returncode == 1
    assert "neuron-monitor ended" in ended.stderr
    assert len(pipeline.metrics_sent()) == 2
    deadline = time.monotonic() + 10
    while len(exported := pipeline.seen.read_text(encoding="utf-8").splitlines()) < 8 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert exported == [f"8008 {json.dumps(report())}"] * 8


def test_what_is_no_report_is_said_and_passed_by(pipeline: Pipeline) -> None:
    pipeline.program("opt/aws/neuron/bin/neuron-monitor", f"echo 'no driver'; {reporting(4)}")

    ended = pipeline.run()

    assert "not a report of neuron-monitor: no driver" in ended.stderr
    assert len(pipeline.metrics_sent()) == 1


def test_a_minute_that_cloudwatch_refuses_is_said_and_the_next_one_sent(pipeline: Pipeline) -> None:
    pipeline.program("opt/aws/neuron/bin/neuron-monitor", reporting(8))
    pipeline.program("stubs/aws", f"echo call >>{pipeline.root}/aws_calls; echo AccessDenied >&2; exit 254")

    ended = pipeline.run()

    assert ended.stderr.count("CloudWatch refused a minute's metrics: AccessDenied") == 2


def test_the_end_of_the_exporter_ends_the_service(pipeline: Pipeline) -> None:
    pipeline.program("opt/aws/neuron/bin/neuron-monitor", f"for _ in {{1..1000}}; do {reporting(50)}; sleep 0.02; done")
    (pipeline.root / "opt/aws/neuron/bin/neuron-monitor-prometheus.py").write_text("raise SystemExit(1)\n")

    ended = pipeline.run()

    assert ended.returncode != 0
    assert "the Prometheus exporter ended" in ended.stderr
