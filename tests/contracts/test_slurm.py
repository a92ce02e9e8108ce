"""The stand-ins for Slurm's commands against the distribution's Slurm: columns, words, messages and exit codes.

Debian's and Ubuntu's Slurm is older than ParallelCluster's (docs/stand-ins.md).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway.remove.teardown import jobs as teardown
from slipway_jobs.chain import slurm_answer
from slipway_jobs.chain.slurm import SlurmError, cancel_jobs, release, slurm_output, submit_job, unfinished_jobs
from tests.assets import health_node
from tests.assets.sandbox import ASSETS
from tests.jobs import chain_case
from tests.jobs.watching import run_folder
from tests.slurm.local_slurm import LocalSlurm

pytestmark = pytest.mark.contract

NODE = "cpu-dy-c7i-1"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSlurm]:
    with LocalSlurm(tmp_path_factory.mktemp("s"), nodes=(NODE,), settings={"MessageTimeout": "2"}) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def _commands(slurm: LocalSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "stage.sbatch"
    file.write_text(f"#!/bin/bash\n#SBATCH --job-name=tiny-train --output={tmp_path}/log\nsleep 60\n", encoding="utf-8")
    return file


def said(stand_in: str) -> set[str]:
    """The messages that a stand-in writes to stderr."""
    return set(re.findall(r'echo "([^"]+)" >&2', stand_in))


def failure(command: str, *arguments: str) -> tuple[int, set[str]]:
    """The status of a command that fails, and its lines."""
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, set(done.stderr.splitlines())


def test_a_submission_reads_what_sbatch_and_squeue_print(script: Path) -> None:
    first = submit_job(script, after=None, held=True)
    second = submit_job(script, after=first, held=False)

    assert int(second) == int(first) + 1
    assert {(job.job, job.state) for job in unfinished_jobs(["tiny-train"])} == {
        (first, "PENDING"),
        (second, "PENDING"),
    }
    answer = slurm_answer.ask_slurm([first, second])
    assert {job: state.word for job, state in answer.jobs.items()} == {first: "PENDING", second: "PENDING"}
    release(first)
    cancel_jobs([first, second])
    cancel_jobs([first])
    assert unfinished_jobs(["tiny-train"]) == []


def test_a_refused_submission_says_what_the_stand_in_says() -> None:
    status, lines = failure("sbatch", "--parsable", "--partition=cpu-2", "--wrap=true")

    assert status == 1
    assert {message.replace(": cpu", ": cpu-2") for message in said(chain_case.SBATCH)} <= lines


def test_the_accounting_that_is_not_there_says_what_the_stand_in_says() -> None:
    status, lines = failure("sacct", "--noheader", "--parsable2", "--allocations", "--jobs=1", "--format=JobID,State")

    assert (status, lines) == (1, said(run_folder.SACCT))


def test_a_controller_that_is_away_says_what_the_stand_ins_say(
    slurm: LocalSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = tmp_path / "slurm.conf"
    settings = re.sub(r"SlurmctldPort=\d+", "SlurmctldPort=9", slurm.files.configuration.read_text())
    away.write_text(settings.replace("SlurmctldTimeout=30", "SlurmctldTimeout=2"))
    command = tmp_path / "squeue"
    text = (slurm.files.commands / "squeue").read_text()
    command.write_text(text.replace(str(slurm.files.configuration), str(away)))
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    status, lines = failure("squeue", "--noheader")

    assert status == 1
    assert said(chain_case.SQUEUE) == said(f"{run_folder.DOWN}\n") == lines
    with pytest.raises(SlurmError, match="Unable to contact slurm controller"):
        unfinished_jobs(["tiny-train"])


def test_destroy_reads_the_head_nodes_queue(slurm: LocalSlurm, script: Path) -> None:
    job = submit_job(script, after=None, held=True)
    name = f"tiny-train-{'x' * 80}"
    slurm_output("scontrol", "update", f"JobId={job}", f"JobName={name}")
    asked = teardown._SCRIPT.replace("/opt/slurm/bin", str(slurm.files.commands))

    output = subprocess.run(["sh", "-c", asked], capture_output=True, text=True, check=True).stdout

    (read,) = teardown._read(output) or ()
    assert (read.id, read.state, read.elapsed, read.name) == (job, "PENDING", "0:00", name)
    cancel_jobs([job])


def test_a_script_finds_the_first_nodes_address(slurm: LocalSlurm) -> None:
    launcher = (ASSETS / "jobs/slipway_jobs/chain/templates/launchers/srun.sh.j2").read_text(encoding="utf-8")
    (lines,) = re.findall(r'^first="\$\(scontrol .*?^MASTER_ADDRESS=.*?$', launcher, re.MULTILINE | re.DOTALL)
    script = f'SLURM_JOB_NODELIST=cpu-dy-c7i-[1-2]\n{lines}\necho "$first $MASTER_ADDRESS"'

    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=False)

    assert (done.stderr, done.stdout.split()) == ("", [NODE, "127.0.0.1"])


def test_a_drained_node_is_recognized_as_the_stand_in_shows_it(slurm: LocalSlurm) -> None:
    source = health_node.HEALTH_CHECK.read_text(encoding="utf-8")
    (drained,) = re.findall(r"if (\[\[ .*DRAIN \]\]); then", source)
    reason = "slipway: 15 of 16 Neuron devices; no /fsx"

    def is_drained() -> bool:
        node = slurm.run("scontrol", "--oneliner", "show", "node", NODE)
        return subprocess.run(["bash", "-c", f'node="$0"; {drained}', node], check=False).returncode == 0

    assert not is_drained()
    slurm.run("scontrol", "update", f"nodename={NODE}", "state=drain", f"reason={reason}")
    real = slurm.node(NODE)
    assert is_drained()
    assert "State=IDLE+CLOUD+DRAIN Reason=" in health_node.STUBS["scontrol"]
    # A node that runs always is no CLOUD node.
    assert (real["State"], real["Reason"].partition(" [")[0]) == ("IDLE+DRAIN", reason)
    slurm.run("scontrol", "update", f"nodename={NODE}", "state=resume")
    assert not is_drained()
