"""The sampler of NeuronCores: what it makes of neuron-monitor's reports, and that it ends with the node's script."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.cluster.neuron_metrics import samples
from slipway_jobs.chain.device_sampler import DeviceSample, read_samples, sample_of
from slipway_jobs.chain.scripts import node_script, render
from tests.assembly import PROJECT
from tests.assets.neuron_reports import report
from tests.jobs.chain_case import environment_below, run_of

FUNCTIONS = re.compile(r"^(?:await|lead|print_hangs|tell_workers|sample)\(\) \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
PATIENCE_SECONDS = 60
TWO_OF_FOUR = report(cores=16, utilization=80.0)


@pytest.mark.parametrize("given", [report(), report(cores=0), TWO_OF_FOUR], ids=["busy", "idle", "half"])
def test_a_sample_says_what_the_metrics_of_the_node_say(given: dict[str, Any]) -> None:
    sample = sample_of(given, "trn1-1", 5.0)
    assert sample is not None
    metrics = samples(given)
    utilization = metrics["NeuronCoreUtilization"]
    assert (sample.cores, sample.utilization_percent) == (len(utilization), sum(utilization) / len(utilization))
    memory = 100 * sample.memory_used_gib / sample.memory_gib
    assert [memory] == metrics["DeviceMemoryUtilization"]
    assert sample.memory_gib == 512


@pytest.mark.parametrize("given", [{}, {"neuron_hardware_info": None}, [], None, 7])
def test_a_report_of_no_devices_is_no_sample(given: Any) -> None:
    assert sample_of(given, "trn1-1", 5.0) is None


def test_of_damaged_old_and_missing_files_nothing_is_told(tmp_path: Path) -> None:
    assert read_samples(tmp_path / "absent", since=0) == []
    fresh = sample_of(report(), "b", 20.0)
    assert fresh is not None
    (tmp_path / "10.json").write_text(fresh.model_dump_json(), encoding="utf-8")
    (tmp_path / "2.json").write_text(fresh.model_copy(update={"node": "a"}).model_dump_json(), encoding="utf-8")
    (tmp_path / "3.json").write_text('{"node": "c", "cut', encoding="utf-8")
    (tmp_path / "4.json").write_text(fresh.model_copy(update={"sampled_at": 9.0}).model_dump_json(), encoding="utf-8")
    assert [one.node for one in read_samples(tmp_path, since=10)] == ["a", "b"]


class Node:
    """What a node's script does when a training starts, with a stand-in for neuron-monitor."""

    def __init__(self, folder: Path) -> None:
        self.environment = environment_below(folder, "trn1")
        self.run = run_of(self.environment, "llama-2-7b").model_copy(update={"kit_python": sys.executable})
        self.monitor, self.configuration, self.process = (folder / name for name in ("monitor", "conf.json", "pid"))
        reports = folder / "reports"
        reports.write_text(f"no report\n{json.dumps(TWO_OF_FOUR)}\n", encoding="utf-8")
        programs = folder / "programs"
        programs.mkdir()
        monitor = programs / "neuron-monitor"
        # As neuron-monitor does, it prints a report in a line each period and goes on.
        monitor.write_text(
            f'#!/bin/bash\ncp "$2" {self.configuration}\necho $$ >{self.process}\ncat {reports}\nexec sleep 1000\n'
        )
        monitor.chmod(0o755)
        self.path = f"{programs}:{os.environ['PATH']}"

    def script(self, training: str) -> str:
        """Return what the script does for a training, a line of bash."""
        script = render(self.run, self.environment)[node_script(self.run)]
        functions = FUNCTIONS.findall(script)
        assert len(functions) == 5
        assert re.search(r"^  train\)\n    sample\n    workers train\n    lead ", script, re.MULTILINE)
        settings = [
            "set -euo pipefail; trap '' USR1; NODE=trn1-1 NODE_RANK=3",
            f"export PATH={shlex.quote(self.path)} PYTHONPATH={PROJECT / 'assets' / 'jobs'}",
        ]
        return "\n".join([*settings, *functions, "sample", f"lead bash -c {shlex.quote(training)}"])

    def start(self, training: str) -> subprocess.Popen[str]:
        """Start it."""
        return subprocess.Popen(["bash", "-c", self.script(training)], stdout=subprocess.PIPE, text=True)

    @property
    def sample(self) -> Path:
        """The file."""
        return self.run.device_samples / "3.json"

    def monitor_runs(self) -> bool:
        """Whether the stand-in still runs."""
        status = Path("/proc") / self.process.read_text(encoding="utf-8").strip() / "status"
        try:
            return "State:\tZ" not in status.read_text(encoding="utf-8")
        except FileNotFoundError:
            return False


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)


def test_the_file_has_the_last_report_and_the_status_is_the_trainings(node: Node, tmp_path: Path) -> None:
    with node.start(f"until [[ -e {tmp_path}/go ]]; do sleep 0.05; done; exit 7") as script:
        wait_for(node.sample.exists)
        assert node.monitor_runs()
        (tmp_path / "go").touch()
        # The sampler holds no end of the pipe: the output ends with the training.
        output, _ = script.communicate(timeout=PATIENCE_SECONDS)
        assert output == ""
    assert script.returncode == 7
    wait_for(lambda: not node.monitor_runs())
    written = DeviceSample.model_validate_json(node.sample.read_text(encoding="utf-8"))
    assert (written.node, written.cores, written.utilization_percent) == ("trn1-1", 32, 40.0)
    assert [file.name for file in node.sample.parent.iterdir()] == ["3.json"]
    asked = json.loads(node.configuration.read_text(encoding="utf-8"))
    assert (asked["period"], [one["type"] for one in asked["neuron_runtimes"][0]["metrics"]]) == (
        "30s",
        ["neuroncore_counters", "memory_used"],
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_the_script_however_that_ends(node: Node, number: signal.Signals, tmp_path: Path) -> None:
    training = f"echo $$ >{tmp_path}/training; exec sleep 1000"
    with node.start(training) as script:
        wait_for(node.sample.exists)
        wait_for((tmp_path / "training").exists)
        script.send_signal(number)
        script.wait(timeout=PATIENCE_SECONDS)
        if number is signal.SIGKILL:
            os.kill(int((tmp_path / "training").read_text(encoding="utf-8")), signal.SIGKILL)
    assert script.returncode == (-9 if number is signal.SIGKILL else 143)
    wait_for(lambda: not node.monitor_runs())


def test_a_node_without_neuron_monitor_trains(node: Node) -> None:
    node.path = os.environ["PATH"]
    with node.start("exit 0") as script:
        assert script.wait(timeout=PATIENCE_SECONDS) == 0
    assert not node.sample.exists()


def test_a_training_on_processors_has_no_sampler(tmp_path: Path) -> None:
    environment = environment_below(tmp_path)
    run = run_of(environment)
    assert "device_sampler" not in render(run, environment)[node_script(run)]
