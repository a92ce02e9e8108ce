"""`slipway-job logs`: the end of a log, and what is added to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from slipway_jobs.cli import app
from slipway_jobs.watching import log_lines
from slipway_jobs.watching.log_lines import added, last_lines
from tests.jobs.watching.run_folder import JOB_IDS, JOBS, Cluster


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["logs", *arguments])


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask Slurm at each look at the log."""
    monkeypatch.setattr("slipway_jobs.watching.log_following.SCHEDULER_SECONDS", 0.0)


def on_each_pause(monkeypatch: pytest.MonkeyPatch, events: Iterator[object]) -> None:
    """Let the next thing happen instead of each wait; a generator does it."""
    monkeypatch.setattr(log_lines, "sleep", lambda _: next(events))


@given(
    lines=st.lists(st.binary(max_size=9).filter(lambda line: not {10, 13} & set(line)), max_size=30),
    wanted=st.integers(0, 40),
)
def test_last_lines_are_those_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], wanted: int
) -> None:
    file = tmp_path_factory.mktemp("log") / "train.log"
    file.write_bytes(b"\n".join(lines))
    whole = file.read_bytes().splitlines(keepends=True)
    block, log_lines.BLOCK_BYTES = log_lines.BLOCK_BYTES, 7
    try:
        text, position = last_lines(file, wanted)
    finally:
        log_lines.BLOCK_BYTES = block

    assert text == b"".join(whole[len(whole) - min(wanted, len(whole)) :])
    assert position == file.stat().st_size


def test_log_of_the_stage_that_runs_is_shown(cluster: Cluster) -> None:
    folder = cluster.submit()
    folder.finish("prepare", "compile")
    folder.attempt("train", started=100)
    cluster.queue({JOB_IDS["train"]: "RUNNING|None"})
    folder.log("compile", "compiled\n")
    folder.log("train", "".join(f"step {step}\n" for step in range(1, 101)))

    assert ask("tiny", "--lines", "2").stdout == "step 99\nstep 100\n"
    assert ask("tiny").stdout.splitlines() == [f"step {step}" for step in range(51, 101)]
    assert ask("tiny", "compile").stdout == "compiled\n"


def test_stage_without_a_log_says_what_it_waits_for_and_shows_the_one_before(cluster: Cluster) -> None:
    folder = cluster.submit()
    folder.finish("prepare", "compile")
    folder.log("compile", "compiled\n")
    cluster.queue({JOB_IDS["train"]: "PENDING|Resources"})

    result = ask("tiny")

    assert result.exit_code == 0
    assert result.stdout == "compiled\n"
    assert result.stderr == "train has no log yet (pending, Resources: waits for free nodes); this is compile's\n"

    asked = ask("tiny", "train")
    assert (asked.exit_code, asked.stdout) == (1, "")
    assert asked.stderr == "train of the run tiny has no log yet: pending, Resources: waits for free nodes\n"


@pytest.mark.usefixtures("at_once")
def test_log_is_followed_over_a_requeue_until_the_job_has_ended(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cluster.submit()
    folder.finish("prepare", "compile")
    folder.attempt("train", started=100)
    cluster.queue({JOB_IDS["train"]: "RUNNING|None"})
    log = folder.log("train", "before\nstep 1\n")

    def events() -> Iterator[None]:
        with log.open("a") as file:
            print("step 2", file=file)
        yield
        cluster.queue({JOB_IDS["train"]: "PENDING|BeginTime"})
        yield
        cluster.queue({JOB_IDS["train"]: "RUNNING|None"})
        with log.open("a") as file:
            print("resumed, step 2", file=file, flush=True)
            yield
            print("step 3", file=file)
        folder.run.done_file("train").touch()
        yield

    on_each_pause(monkeypatch, events())

    result = ask("tiny", "train", "--follow", "--lines", "1")

    assert result.stdout == "step 1\nstep 2\nresumed, step 2\nstep 3\n"
    assert result.stderr == "tiny: train is done\n"
    assert result.exit_code == 0


@pytest.mark.usefixtures("at_once")
def test_chain_is_followed_from_stage_to_stage_until_one_fails(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cluster.submit()
    folder.finish("prepare")
    cluster.queue({JOB_IDS["compile"]: "PENDING|Resources", JOB_IDS["train"]: "PENDING|Dependency"})

    def events() -> Iterator[None]:
        folder.log("compile", "compiled\n")
        folder.run.done_file("compile").touch()
        folder.log("train", "out of memory\n")
        cluster.queue({JOB_IDS["train"]: "FAILED|NonZeroExitCode"})
        yield

    on_each_pause(monkeypatch, events())

    result = ask("tiny", "--follow")

    assert result.exit_code == 3
    assert result.stdout == "compiled\nout of memory\n"
    assert result.stderr.splitlines() == [
        "==> compile <==",
        "no log yet: pending, Resources: waits for free nodes",
        "==> train <==",
        "tiny: train is failed",
    ]


def test_log_that_was_written_anew_is_read_from_its_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "train.log"
    log.write_text("a long first attempt\n")
    looks = iter([False, False, True])

    def events() -> Iterator[None]:
        log.write_text("again\n")
        yield
        yield

    on_each_pause(monkeypatch, events())

    assert b"".join(added(log, log.stat().st_size, lambda: next(looks))) == b"again\n"


def test_interrupted_following_ends_without_a_word(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = cluster.submit()
    folder.log("prepare", "tokenizing\n")
    cluster.queue({JOB_IDS["prepare"]: "RUNNING|None"})

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(log_lines, "sleep", interrupt)

    result = ask("tiny", "prepare", "--follow")

    assert (result.exit_code, result.stdout, result.stderr) == (130, "tokenizing\n", "")


def test_stage_that_the_recipe_does_not_have_is_named(cluster: Cluster) -> None:
    cluster.submit(publish=False)

    for arguments in (["publish"], ["publish", "--follow"]):
        result = ask("tiny", *arguments)
        assert result.exit_code == 1
        assert result.stderr == "the run tiny has no stage publish, only prepare, compile, train, convert\n"


def test_reader_that_has_seen_enough_gets_no_traceback(cluster: Cluster) -> None:
    folder = cluster.submit()
    folder.log("prepare", "line\n" * 100_000)
    script = f"{sys.executable} -m slipway_jobs logs tiny prepare --lines 100000 | head -n 1"

    piped = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script], cwd=JOBS, capture_output=True, text=True, check=False
    )

    assert (piped.returncode, piped.stdout, piped.stderr) == (0, "line\n", "")
