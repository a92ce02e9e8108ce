"""Use and memory of a node's NeuronCores while it trains, in one small file of the run's folder.

    python -m slipway_jobs.chain.device_sampler PARENT FILE NODE

The node's script starts it beside the training. It runs neuron-monitor, replaces FILE with each report, and ends with
the process PARENT, however that ends. Where there is no neuron-monitor, or no room for the file, there is no sample:
a training never fails for it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from pydantic import ValidationError

from slipway_jobs.recipe.section import Section

PERIOD_SECONDS = 30
"""Between two reports."""

# What aws-neuronx-tools installs (Neuron documentation, tools: neuron-monitor user guide); PATH need not have it.
_TOOLS = "/opt/aws/neuron/bin"
_CONFIGURATION = {
    "period": f"{PERIOD_SECONDS}s",
    "neuron_runtimes": [
        {"tag_filter": ".*", "metrics": [{"type": "neuroncore_counters"}, {"type": "memory_used"}]},
    ],
    "system_metrics": [],
}
_PR_SET_PDEATHSIG = 1
"""Linux, prctl(2): the signal that this process gets when its parent has ended."""


class DeviceSample(Section):
    """The Neuron devices of one node at one moment."""

    node: str
    """The node's name."""

    sampled_at: float
    """When, in Unix seconds."""

    cores: int
    """NeuronCores, those that no process holds, too."""

    utilization_percent: float
    """Mean use of all of them since the report before."""

    memory_used_gib: float
    """Memory of the devices that processes hold."""

    memory_gib: float
    """Memory of all devices."""


def sample_of(report: Any, node: str, now: float) -> DeviceSample | None:
    """Read a report of neuron-monitor, or return None where it tells of no devices.

    Args:
        report: one JSON object of its output (Neuron Monitor User Guide, "The JSON output format"); groups of it are
            empty, null or absent while nothing runs.
        node: the node's name.
        now: Unix seconds.
    """
    hardware = _group(report, "neuron_hardware_info")
    devices = int(hardware.get("neuron_device_count") or 0)
    cores = devices * int(hardware.get("neuroncore_per_device_count") or 0)
    if not cores:
        return None
    used: dict[str, float] = {}
    memory = 0.0
    for runtime in _group(report).get("neuron_runtime_data") or []:
        told = _group(runtime, "report")
        for index, core in _group(told, "neuroncore_counters", "neuroncores_in_use").items():
            used[index] = max(used.get(index, 0.0), float(_group(core).get("neuroncore_utilization") or 0))
        memory += float(_group(told, "memory_used", "neuron_runtime_used_bytes").get("neuron_device") or 0)
    return DeviceSample(
        node=node,
        sampled_at=now,
        cores=cores,
        utilization_percent=sum(used.values()) / cores,
        memory_used_gib=memory / 2**30,
        memory_gib=devices * float(hardware.get("neuron_device_memory_size") or 0) / 2**30,
    )


def _group(tree: Any, *path: str) -> dict[str, Any]:
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}


def read_samples(directory: Path, since: float) -> list[DeviceSample]:
    """Return the latest sample of each node, in the order of the nodes' numbers; those before `since` are left out."""
    found = []
    files = directory.glob("[0-9]*.json")
    for file in sorted(files, key=lambda one: int(one.stem) if one.stem.isdigit() else -1):
        with suppress(OSError, ValidationError):
            found.append(DeviceSample.model_validate_json(file.read_text(encoding="utf-8")))
    return [one for one in found if one.sampled_at >= since]


def write_samples(file: Path, node: str) -> None:
    """Replace the file with each report of neuron-monitor, until that ends.

    Raises:
        OSError: there is no neuron-monitor.
    """
    with NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as configuration:
        json.dump(_CONFIGURATION, configuration)
        configuration.flush()
        with subprocess.Popen(
            ["neuron-monitor", "-c", configuration.name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            # This process has no threads that it could be unsafe with.
            preexec_fn=partial(_end_with, os.getpid()),  # noqa: PLW1509
        ) as monitor:
            assert monitor.stdout is not None
            for line in monitor.stdout:
                with suppress(ValueError, TypeError, OSError):
                    sample = sample_of(json.loads(line), node, time.time())
                    if sample is not None:
                        _replace(file, sample.model_dump_json())


def _replace(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


def _end_with(parent: int) -> None:
    """End this process when its parent does, also by SIGKILL; at once where that has ended already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(0)


if __name__ == "__main__":
    _end_with(int(sys.argv[1]))
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{_TOOLS}"
    with suppress(OSError):
        write_samples(Path(sys.argv[2]), sys.argv[3])
