"""What pods do when something goes wrong: their real scripts, with stand-ins for the processes."""

from __future__ import annotations

import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from slipway_jobs.chain import scripts
from slipway_jobs.chain.record import read_attempts
from slipway_jobs.chain.scripts import render
from slipway_jobs.run import Stage
from tests.jobs.chain_case import shellcheck
from tests.jobs.kubernetes import script_runs
from tests.jobs.kubernetes.manifest_case import LAUNCHERS, NAMES, SECRET, placed
from tests.jobs.kubernetes.script_runs import Record, ScriptRun, script_run

RECIPE = "tiny-llama"


ENDS_EARLY = re.compile(r"\| (grep (-\w*q|--quiet)|head\b)")
"""A reader that ends before it has read everything: the writer may fail, and with it the pipeline (pipefail)."""


def until(there: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something."""
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def prepared(on: ScriptRun, *more: Stage) -> ScriptRun:
    """Let stages be done."""
    for stage in ("prepare", *more):
        on.run.done_file(stage).touch()
    return on


def purposes(records: list[Record]) -> list[tuple[str, str]]:
    """Return purpose and node of each start of torchrun."""
    started = [record for record in records if record.arguments[1] == "torch.distributed.run"]
    return sorted((record.option("--purpose"), record.option("--node_rank")) for record in started)


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("name", NAMES)
def test_scripts_of_pods_please_shellcheck(name: str, launcher: Literal["torchrun", "mpi"], tmp_path: Path) -> None:
    run, environment = placed(name, launcher, secret=SECRET)
    scripts = render(run, environment)
    shellcheck(scripts, tmp_path)
    for text in scripts.values():
        assert "SLURM" not in text
        assert not ENDS_EARLY.search(text)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_pod_that_is_asked_to_end_has_its_workers_save_and_does_not_count(
    launcher: Literal["torchrun", "mpi"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = prepared(script_run(tmp_path / "u", monkeypatch, RECIPE, launcher), "compile")
    on.tell("holds-train")
    pods = on.work()
    workers = [f"{node}-{local}" for node in (0, 1) for local in (1, 2)]
    until(lambda: all((on.told / f"ready-{worker}").exists() for worker in workers))

    for pod in pods:
        pod.send_signal(signal.SIGTERM)

    assert set(on.wait(pods)) == {75}
    assert all((on.told / f"got-USR1-{worker}").exists() for worker in workers)
    last = read_attempts(on.run, "train")[-1]
    assert (last.outcome, last.counted) == ("stopped", False)
    assert "asked to stop by a signal" in on.log("train")


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_nodes_script_hands_a_signal_on_to_the_workers_and_not_to_torchrun(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = script_run(tmp_path / "u", monkeypatch, RECIPE, None, nodes=1)
    on.tell("holds-train")
    node = {"SLURMD_NODENAME": "node-0", "SLURM_NNODES": "1", "SLURM_NODEID": "0", "MASTER_ADDRESS": "10.0.0.1"}
    script = on.start(["bash", str(scripts.node_script(on.run)), "train"], node)
    until(lambda: all((on.told / f"ready-0-{local}").exists() for local in (1, 2)))

    # As Slurm does it with proctrack/cgroup: to the one process that slurmstepd has started.
    script.send_signal(number)

    # A torchrun that had the signal would have died of it.
    assert on.wait([script]) == [0]
    assert all((on.told / f"got-{number.name[3:]}-0-{local}").exists() for local in (1, 2))


def test_the_time_limit_of_the_recipe_stops_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = script_run(tmp_path / "u", monkeypatch, RECIPE, "torchrun", nodes=1)
    prepared(on, "compile").tell("holds-train")
    hours = on.run.recipe.restarts.time_limit_hours
    file = scripts.script(on.run, "train")
    text = file.read_text(encoding="utf-8")
    assert f"timer {hours * 3600} " in text
    # The stand-in of sleep waits 0.1 s for what is less than 1000 s.
    file.write_text(text.replace(f"timer {hours * 3600} ", "timer 900 "), encoding="utf-8")

    assert on.wait(on.work()) == [75]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_failure_of_the_training_is_told_from_a_stop(
    launcher: Literal["torchrun", "mpi"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = prepared(script_run(tmp_path / "u", monkeypatch, RECIPE, launcher), "compile")
    on.tell("fails-train-0", "fails-train-1")

    assert set(on.wait(on.work())) == {1}
    last = read_attempts(on.run, "train")[-1]
    assert (last.outcome, last.counted, last.status) == ("failed", True, 13)


def test_a_log_says_where_each_worker_hung_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(script_runs.BASE, "TMPDIR", str(tmp_path))
    on = prepared(script_run(tmp_path / "u", monkeypatch, RECIPE, "torchrun", nodes=1), "compile")
    on.tell("fails-train-0")

    assert on.wait(on.work()) == [1]
    hung = "".join(f"worker-0000{worker} hangs:\nTimeout (0:30:00)!\nline {worker}\n" for worker in (1, 2))
    assert hung in on.log("train")
    assert "worker-00000" not in on.log("train")
    assert [path.name for path in tmp_path.iterdir()] == ["u"]


def test_a_stand_in_ends_when_its_folder_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = script_run(tmp_path / "u", monkeypatch, RECIPE, "torchrun")
    options = ["--nnodes", "2", "--node_rank", "0", "--purpose", "train"]
    waiting = on.start([on.run.python, "-m", "torch.distributed.run", *options], {})
    until((on.told / "at-train-0").exists)
    assert waiting.poll() is None

    shutil.rmtree(on.directory)

    assert on.wait([waiting], seconds=20) == [14]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_restart_skips_what_is_done(
    launcher: Literal["torchrun", "mpi"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = prepared(script_run(tmp_path / "u", monkeypatch, RECIPE, launcher), "compile")

    assert set(on.wait(on.work(restart=1))) == {0}
    assert purposes(on.records()) == [("train", "0"), ("train", "1")]

    assert set(on.wait(on.work(restart=2))) == {0}
    assert not on.records()
    assert [attempt.outcome for attempt in read_attempts(on.run, "train")] == ["finished"]


def test_all_pods_compile_again_when_one_has_failed_and_none_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = prepared(script_run(tmp_path / "u", monkeypatch, RECIPE, "torchrun"))
    on.tell("fails-compile-1", "hangs-compile-0")

    assert set(on.wait(on.work())) == {0}
    assert purposes(on.records()) == sorted([("compile", "0"), ("compile", "1")] * 2 + [("train", "0"), ("train", "1")])
    assert "compilation failed with status 137: try 2 of 3" in on.log("compile")


def test_a_pod_hears_of_a_failure_before_it_knows_its_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = prepared(script_run(tmp_path / "u", monkeypatch, RECIPE, "torchrun"))
    on.tell("fails-compile-1", "hangs-compile-0")
    # The first pod has started its work, and goes on only when the other pod's has failed.
    pause = on.directory / "pause.sh"
    pause.write_text(
        """set -T
        trap 'if [[ "${JOB_COMPLETION_INDEX}-${STAGE:-}-${BASH_COMMAND}" == "0-compile-work=\\$!" ]]; then
          until [[ -e "${MEETING}/compile-1-1" ]]; do /usr/bin/sleep 0.1; done
          /usr/bin/sleep 0.5
        fi' DEBUG
        """,
        encoding="utf-8",
    )
    monkeypatch.setitem(script_runs.BASE, "BASH_ENV", str(pause))

    assert set(on.wait(on.work())) == {0}


def test_files_of_an_earlier_start_mislead_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = prepared(script_run(tmp_path / "u", monkeypatch, RECIPE, "torchrun"))
    meetings = Path(on.run.directory, "meetings")
    (meetings / "uid-9-0").mkdir(parents=True)
    (meetings / "first").write_text("uid-9-0 10.9.9.9\n", encoding="utf-8")
    (meetings / "uid-9-0" / "all").write_text("uid-9-1\n", encoding="utf-8")
    (meetings / "uid-9-0" / "verdict-compile").write_text("0\n", encoding="utf-8")

    assert set(on.wait(on.work())) == {0}
    started = [record for record in on.records() if record.arguments[1] == "torch.distributed.run"]
    assert {record.option("--master_addr") for record in started} == {"10.0.0.1"}


def test_a_pod_does_not_wait_for_ever_for_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = script_run(tmp_path / "u", monkeypatch, RECIPE, "torchrun", waits={"START_SECONDS": 10})
    template = prepared(on).replicated_jobs()["train"]["spec"]["template"]

    # Nodes that do not come are no failure of the run's, the first time.
    assert on.wait(on.pods(template, 1)) == [75]
    assert "FAILED: not all of 2 pods have started within 10 s" in on.log("compile")
    assert read_attempts(on.run, "compile")[-1].outcome == "stopped"


def test_mpirun_does_not_wait_for_ever_for_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = prepared(script_run(tmp_path / "u", monkeypatch, RECIPE, "mpi", waits={"START_SECONDS": 1}))
    on.tell("no-names")

    assert on.wait(on.work()) == [75]
    assert "FAILED: no address of worker-0.tiny.slipway.svc" in on.log("compile")
    assert read_attempts(on.run, "compile")[-1].outcome == "stopped"


def test_a_worker_of_mpirun_ends_after_what_runs_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = prepared(script_run(tmp_path / "u", monkeypatch, RECIPE, "mpi", nodes=1), "compile")
    on.tell("holds-train")
    launcher = on.work()
    until((on.told / "ready-0-2").exists)

    # What kubelet runs in the worker before it ends its sshd.
    before_stop = on.start(["bash", str(scripts.node_script(on.run)), "stop"], {"TMPDIR": str(on.told / "tmp-0")})

    assert on.wait([before_stop]) == [0]
    assert (on.told / "got-USR1-0-2").exists()
    # Nobody asked the launcher, and there is no new checkpoint.
    assert on.wait(launcher) == [1]


def test_logs_of_other_pods_are_beside_the_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = prepared(script_run(tmp_path / "u", monkeypatch, RECIPE, "torchrun"))

    on.wait(on.work())

    names = {file.name for file in Path(on.run.directory, "logs").iterdir()}
    assert names == {"compile.log", "compile.1.log", "train.log", "train.1.log"}
    assert "train finished (status 0): finish" in on.log("train")
