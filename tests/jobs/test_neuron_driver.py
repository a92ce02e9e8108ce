"""Pods compare the node's Neuron driver with the runtime library of their image before they start workers."""

import itertools
from pathlib import Path

import pytest

from slipway import facts
from slipway_jobs.chain import neuron_driver
from slipway_jobs.chain.scripts import node_script, render
from slipway_jobs.environment import NeuronRuntime
from tests.jobs.chain_case import placed as placed_on_slurm
from tests.jobs.kubernetes.manifest_case import placed

DRIVERS = ("2.18.12.0", "2.26.10.0", "2.27.4.0", "2.28.0.0", "2.29.0.0", "2.31.7.0")
RUNTIMES = ("2.22.14.0", "2.26.42.0", "2.30.51.0", "2.32.31.0", "2.33.10.0", "2.35.30.0")
RUNTIME = NeuronRuntime(version="2.30.51.0", driver_below="2.29")


@pytest.mark.parametrize(("driver", "runtime"), [*itertools.product(DRIVERS, RUNTIMES)])
def test_pods_and_facts_say_the_same(driver: str, runtime: str) -> None:
    drivers = facts.drivers_for(runtime)
    said = neuron_driver.problem(driver, runtime, drivers.driver_from or "any", drivers.driver_below or "any")
    expected = facts.driver_problem(driver, runtime)

    assert (said is None) == (expected is None)
    assert said is None or said.split(",")[0] == str(expected).split(",")[0]


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        ("2.28.0.0\n", 0, ""),
        ("2.29.0.0\n", 1, "FAILED: Neuron driver 2.29.0.0 with runtime library 2.30.51.0: nrt_init() fails"),
        ("another\n", 0, "warning: the node's Neuron driver is not known"),
        (None, 0, "warning: the node's Neuron driver is not known"),
    ],
)
def test_a_worker_starts_unless_the_driver_is_known_not_to_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, status: int, said: str
) -> None:
    file = tmp_path / "version"
    if content is not None:
        file.write_text(content, encoding="utf-8")

    assert neuron_driver.main(["2.30.51.0", "any", "2.29", str(file)]) == status
    assert capsys.readouterr().err.startswith(said)


def test_pods_on_neuron_nodes_compare_and_slurm_nodes_leave_it_to_their_health_check() -> None:
    said = {}
    for where, (run, environment) in {"pods": placed("llama-2-7b"), "slurm": placed_on_slurm("llama-2-7b")}.items():
        stacks = environment.training_stacks.items()
        known = {name: stack.model_copy(update={"runtime": RUNTIME}) for name, stack in stacks}
        scripts = render(run, environment.model_copy(update={"training_stacks": known}))
        said[where] = scripts[node_script(run)]

    command = "-m slipway_jobs.chain.neuron_driver 2.30.51.0 any 2.29\n"
    assert command in said["pods"]
    assert said["pods"].index(command) < said["pods"].index('case "$1" in')
    assert "neuron_driver" not in said["slurm"]
