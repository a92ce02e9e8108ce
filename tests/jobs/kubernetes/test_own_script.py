"""A script of the user's own in the pods of a JobSet: it is finished when it has ended well in all of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slipway_jobs.chain.record import read_attempts
from slipway_jobs.chain.scripts import STOPPED_STATUS, render
from slipway_jobs.recipe.model import Restarts
from slipway_jobs.run import ScriptRun
from slipway_jobs.running.resolve import Wish, resolve_script
from tests.jobs.chain_case import environment_below
from tests.jobs.kubernetes.manifest_case import on_kubernetes

NODES = 2
# In the place of torchrun and of a worker in its own session: it ends with what a file of its rank says, or waits for a
# signal, which torchrun does not hand on.
TORCHRUN = """
import signal, subprocess, sys, time
from pathlib import Path
stopped = []
if "--worker" not in sys.argv:
    sys.exit(subprocess.call([sys.executable, __file__, "--worker", *sys.argv[1:]], start_new_session=True))
signal.signal(signal.SIGUSR1, lambda *_: stopped.append(True))
rank, program = sys.argv[sys.argv.index("--node_rank") + 1], Path(sys.argv[-1])
file = program.with_name(f"status-{rank}")
while not file.exists() and not stopped:
    time.sleep(0.05)
sys.exit(int(file.read_text()) if file.exists() else 0)
"""


@pytest.fixture
def run(tmp_path: Path) -> ScriptRun:
    """A submitted run of a script on two nodes."""
    module = tmp_path / "packages" / "torch" / "distributed" / "run.py"
    module.parent.mkdir(parents=True)
    for folder in (module.parent, module.parents[1]):
        (folder / "__init__.py").touch()
    module.write_text(TORCHRUN, encoding="utf-8")
    (tmp_path / "train.py").touch()
    (tmp_path / "python").symlink_to(sys.executable)
    environment = on_kubernetes(environment_below(tmp_path))
    wish = Wish(
        script=tmp_path / "train.py",
        arguments=(),
        compile_arguments=None,
        queue="cpu",
        instance_type=None,
        nodes=NODES,
        workers_per_node=1,
        stack=None,
        python=tmp_path / "python",
        environment_variables={"PYTHONPATH": str(tmp_path / "packages")},
        limits=Restarts(limit=1),
        save_seconds=0,
        working_directory=tmp_path,
    )
    run = resolve_script(wish, environment, tmp_path / "environment.json", "train")
    (tmp_path / "environment.json").write_text(environment.model_dump_json(), encoding="utf-8")
    for name in ("scripts", "logs", "stages"):
        Path(run.directory, name).mkdir(parents=True)
    run.file.write_text(run.model_dump_json(), encoding="utf-8")
    for script, text in render(run, environment).items():
        script.write_text(text, encoding="utf-8")
    return run


def start(run: ScriptRun) -> list[subprocess.Popen[bytes]]:
    """Start the script that the pods run, in as many processes as there are pods."""
    pods = []
    for index in range(NODES):
        variables = {
            "SLIPWAY_SUBMISSION": "0123abcd",
            "SLIPWAY_RESTART": "0",
            "SLIPWAY_NODES": str(NODES),
            "SLIPWAY_NODE": f"node-{index}",
            "POD_UID": f"uid-{index}",
            "POD_ADDRESS": f"10.0.0.{index + 1}",
            "JOB_COMPLETION_INDEX": str(index),
        }
        known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        script = run.script("train").with_suffix(".sh")
        pods.append(subprocess.Popen(["bash", str(script)], env={**known, **variables}, start_new_session=True))
    return pods


def statuses(pods: list[subprocess.Popen[bytes]]) -> list[int]:
    return [pod.wait(60) for pod in pods]


def end(run: ScriptRun, *codes: int) -> None:
    for rank, code in enumerate(codes):
        Path(run.program).with_name(f"status-{rank}").write_text(str(code))


def test_it_is_finished_when_all_have_ended_well(run: ScriptRun) -> None:
    end(run, 0, 0)
    assert statuses(start(run)) == [0, 0]
    assert run.done_file("train").exists()
    assert [attempt.outcome for attempt in read_attempts(run, "train")] == ["finished"]


@pytest.mark.parametrize("codes", [(0, 3), (3, 0)])
def test_a_failure_on_one_node_is_one_of_all(run: ScriptRun, codes: tuple[int, int]) -> None:
    end(run, *codes)
    assert statuses(start(run)) == [1, 1]
    assert not run.done_file("train").exists()
    assert [attempt.outcome for attempt in read_attempts(run, "train")] == ["failed"]


def test_a_stop_is_no_end(run: ScriptRun) -> None:
    pods = start(run)
    while not list(Path(run.directory).glob("meetings/*/all")):
        assert all(pod.poll() is None for pod in pods)
        time.sleep(0.1)
    for pod in pods:
        pod.terminate()
    assert statuses(pods) == [STOPPED_STATUS, STOPPED_STATUS]
    assert not run.done_file("train").exists()
    assert [attempt.outcome for attempt in read_attempts(run, "train")] == ["stopped"]
