"""`slipway-job top`: neuron-top on a node of the job. tests/slurm has it with a real Slurm."""

from __future__ import annotations

import os

import pytest
from typer.testing import CliRunner, Result

from slipway_jobs.cli import app
from tests.jobs.watching.run_folder import JOB_IDS, Cluster, RunFolder, put_on_neuron


class ReplacedError(Exception):
    """This process would be another program now."""


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the programs that took the place of this process."""
    programs: list[list[str]] = []

    def execvp(_file: str, words: list[str]) -> None:
        programs.append(words)
        raise ReplacedError

    monkeypatch.setattr(os, "execvp", execvp)
    return programs


@pytest.fixture
def folder(cluster: Cluster) -> RunFolder:
    """Return a run on two Trainium nodes whose train job runs."""
    folder = cluster.submit()
    put_on_neuron(folder.run, nodes=2)
    folder.finish("prepare", "compile")
    cluster.queue({JOB_IDS["train"]: "RUNNING|None"})
    return folder


def top(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["top", *arguments])


@pytest.mark.usefixtures("folder")
def test_it_becomes_neuron_top_on_a_node_of_the_job(replaced: list[list[str]]) -> None:
    for arguments in (("tiny",), ("tiny", "--node", "1")):
        assert isinstance(top(*arguments).exception, ReplacedError)
    assert [words[words.index("--relative") + 1] for words in replaced] == ["0", "1"]
    assert replaced[0][:3] == ["srun", "--jobid", JOB_IDS["train"]]
    assert replaced[0][-1] == "neuron-top"
    assert os.environ["PATH"].endswith(":/opt/aws/neuron/bin")


@pytest.mark.usefixtures("folder", "replaced")
def test_a_node_that_the_job_does_not_have() -> None:
    result = top("tiny", "--node", "2")
    assert (result.exit_code, result.stderr) == (1, "--node 2: the job has 2 nodes, from 0\n")


@pytest.mark.usefixtures("replaced")
def test_nothing_to_show(cluster: Cluster, folder: RunFolder) -> None:
    folder.finish("train")
    cluster.queue({JOB_IDS["convert"]: "RUNNING|None"})
    assert "no job on Neuron devices now: the stage convert is running" in top("tiny").stderr
    assert top("nix").exit_code == 1
    cluster.submit("on-processors")
    assert "on-processors trains on processors" in top("on-processors").stderr
