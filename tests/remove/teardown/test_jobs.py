"""Jobs are named by the head node; a head node that does not answer is told from an empty queue."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from slipway.aws.account import Account
from slipway.cli import app
from slipway.remove.teardown import inspection, jobs
from slipway.remove.teardown.jobs import Job
from tests.remove.teardown.fakes import CLUSTER, FakePrograms, answering, start_nodes

QUEUE = "17|ada|RUNNING|1-02:03:04|llama | pretrain\n18|bob|PENDING|0:00|eval\n"


class HeadNodeShell:
    """Systems Manager with a shell that has a `squeue` of its own."""

    class exceptions:  # noqa: N801  # boto3's name
        class InvocationDoesNotExist(Exception):  # noqa: N818
            pass

    def __init__(self, squeue: str, *, later: int = 1, refused: bool = False) -> None:
        self.squeue, self.later, self.refused = squeue, later, refused
        self.output = ""

    def send_command(self, **parameters: Any) -> dict[str, Any]:
        if self.refused:
            raise ClientError({"Error": {"Code": "InvalidInstanceId"}}, "SendCommand")
        (script,) = parameters["Parameters"]["commands"]
        done = subprocess.run(
            ["sh", "-c", script.replace("/opt/slurm/bin/squeue", self.squeue)],
            capture_output=True,
            text=True,
            check=False,
        )
        self.output = done.stdout
        return {"Command": {"CommandId": "c-1"}}

    def get_command_invocation(self, **_: str) -> dict[str, str]:
        self.later -= 1
        if self.later == 1:
            raise self.exceptions.InvocationDoesNotExist
        return {"Status": "Pending" if self.later > 1 else "Success", "StandardOutputContent": self.output}


@pytest.fixture
def squeue(tmp_path: Path) -> Any:
    """Write a `squeue` that says a text and ends with a code."""

    def write(text: str, code: int = 0) -> str:
        (tmp_path / "queue").write_text(text, "utf-8")
        program = tmp_path / "squeue"
        program.write_text(f'#!/bin/sh\ncat "{tmp_path}/queue"\nexit {code}\n', "utf-8")
        program.chmod(0o755)
        return str(program)

    return write


def asked(account: Account, shell: HeadNodeShell) -> tuple[Job, ...] | None:
    start_nodes(account.client("ec2"), node_type="HeadNode")
    return jobs.jobs(answering(account, "ssm", shell), CLUSTER)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "POLL_SECONDS", 0)


def test_jobs_are_read_whatever_their_names(account: Account, squeue: Any) -> None:
    found = asked(account, HeadNodeShell(squeue(QUEUE), later=4))

    assert found == (
        Job("17", "ada", "RUNNING", "1-02:03:04", "llama | pretrain"),
        Job("18", "bob", "PENDING", "0:00", "eval"),
    )
    assert [job.waits for job in found] == [False, True]


def test_an_empty_queue_is_an_answer(account: Account, squeue: Any) -> None:
    assert asked(account, HeadNodeShell(squeue(""))) == ()


def test_an_answer_fits_what_systems_manager_returns(account: Account, squeue: Any) -> None:
    id_, name = f"1234567890_[{'1,' * 32}]", "n" * jobs._LONGEST_NAME
    shell = HeadNodeShell(squeue(f"{id_}|{'u' * 32}|OUT_OF_MEMORY|365-12:34:56|{name}\n" * 100))

    assert len(asked(account, shell) or ()) == 100
    assert len(shell.output) <= 24_000


def test_a_long_queue_is_cut_and_still_an_answer(account: Account, squeue: Any) -> None:
    found = asked(account, HeadNodeShell(squeue("17|ada|RUNNING|0:01|x\n" * 5000)))

    assert found is not None
    assert len(found) == 100


def test_jobs_that_wait_do_not_push_one_that_runs_out_of_the_answer(account: Account, squeue: Any) -> None:
    waiting = "".join(f"{number}|bob|PENDING|0:00|eval\n" for number in range(200))

    found = asked(account, HeadNodeShell(squeue(waiting + "999|ada|RUNNING|9:00:00|a|PENDING|b\n")))

    assert found is not None
    assert found[0] == Job("999", "ada", "RUNNING", "9:00:00", "a|PENDING|b")
    assert len(found) == 100


def test_a_name_with_a_line_break_is_no_job(account: Account, squeue: Any) -> None:
    found = asked(
        account, HeadNodeShell(squeue("17|ada|RUNNING|0:01|two\nslipway-squeue-end\n18|ada|RUNNING|0:01|x\n"))
    )

    assert [job.id for job in found or ()] == ["17", "18"]


@pytest.mark.parametrize("shell", [HeadNodeShell("false"), HeadNodeShell("true", refused=True)])
def test_a_head_node_that_cannot_tell_is_no_empty_queue(account: Account, shell: HeadNodeShell) -> None:
    assert asked(account, shell) is None


def test_a_head_node_that_is_slow_is_not_waited_for_for_ever(
    account: Account, squeue: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "ANSWER_SECONDS", 0.01)

    assert asked(account, HeadNodeShell(squeue(QUEUE), later=10**9)) is None


def test_without_a_head_node_nobody_tells(account: Account) -> None:
    assert jobs.jobs(answering(account, "ssm", SimpleNamespace()), CLUSTER) is None


@pytest.mark.parametrize(("queue", "exit_code"), [(QUEUE, 2), ("18|bob|PENDING|0:00|eval\n", 0), ("", 0)])
def test_a_script_is_stopped_by_running_jobs_and_by_nothing_less(
    *,
    deployed: Account,
    assembly: Path,
    programs: FakePrograms,
    squeue: Any,
    monkeypatch: pytest.MonkeyPatch,
    queue: str,
    exit_code: int,
) -> None:
    start_nodes(deployed.client("ec2"))
    shell = HeadNodeShell(squeue(queue))

    def ask(account: Account, _cluster: str) -> tuple[Job, ...] | None:
        return asked(account, shell)

    monkeypatch.setattr(inspection, "jobs", ask)
    result = CliRunner().invoke(app, ["destroy", "--assembly", str(assembly), "--yes"])

    assert result.exit_code == exit_code, result.output
    assert ("jobs run (17 of ada): wait for them, or use --with-running-jobs" in result.output) == (exit_code == 2)
    assert ("job 18 'eval' of bob: PENDING" in result.output) == bool(queue)
