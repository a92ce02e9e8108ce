"""A proof ends with everything deleted, or says that it is not; whatever fails, and whenever somebody stops it."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slipway.errors import FailedError, RefusedError
from slipway.prove import run
from slipway.prove.ceiling import Ceiling
from slipway.prove.evidence import Evidence
from slipway.prove.run import Proof
from tests.assembly import load

PROGRAM = """
import json, os, sys, time
rows = json.loads(os.environ["ROWS"])
words = " ".join(sys.argv[1:])
with open(os.environ["CALLS"], "a") as calls:
    calls.write(words + "\\n")
for begins, (seconds, code) in rows.items():
    if words.startswith(begins):
        print("working on", words, flush=True)
        time.sleep(seconds)
        sys.exit(code)
"""


@dataclass
class NotedDeadline:
    """Notes what is asked of it."""

    error: Exception | None = None
    asked: list[str] = field(default_factory=list)
    at: datetime | None = None

    def arm(self, at: datetime) -> None:
        self.asked.append("arm")
        self.at = at
        if self.error:
            raise self.error

    def disarm(self) -> None:
        self.asked.append("disarm")


@dataclass
class Laptop:
    """A proof of the environment `small`, whose commands are a script's."""

    folder: Path
    deadline: NotedDeadline = field(default_factory=NotedDeadline)
    ceiling: Ceiling = field(default_factory=lambda: Ceiling(100, 10, 60))

    def proof(self) -> Proof:
        environment: Any = SimpleNamespace(
            name="small",
            choice="small",
            settings=load("small"),
            account=SimpleNamespace(region="us-west-2"),
            command=lambda name: f"slipway {name} -e small",
        )
        deadline: Any = self.deadline
        return Proof(environment, self.ceiling, deadline, self.folder, sleep=lambda _: None)

    @property
    def calls(self) -> list[str]:
        file = self.folder / "calls"
        return [line.split()[0] for line in file.read_text("utf-8").splitlines()] if file.exists() else []


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laptop:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.setattr(run, "_SLIPWAY", (sys.executable, str(tmp_path / "program.py")))
    monkeypatch.setattr(run, "_POLL_SECONDS", 0.05)
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("ROWS", "{}")
    return Laptop(tmp_path)


def answers(monkeypatch: pytest.MonkeyPatch, rows: Mapping[str, Sequence[float]]) -> None:
    """Let commands that begin so take some seconds and end with a code; all others end with 0."""
    monkeypatch.setenv("ROWS", json.dumps(rows))


def outcomes(evidence: Evidence) -> dict[str, str]:
    return {one.probe: one.outcome for one in evidence.tried}


def interrupt_at(laptop: Laptop, command: str) -> None:
    """Press Ctrl-C when a command has begun."""
    while command not in laptop.calls:
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


def test_everything_is_tried_and_deleted(laptop: Laptop) -> None:
    evidence = laptop.proof().run()

    assert set(outcomes(evidence).values()) == {"passed"}
    assert evidence.is_complete
    assert laptop.deadline.asked == ["arm", "disarm"]
    assert laptop.calls == ["preflight", "deploy", "job", "job", "job", "job", "job", "roll-out", "destroy"]
    assert "123456789012" not in evidence.model_dump_json()


def test_the_deadline_leaves_time_for_the_deletion(laptop: Laptop) -> None:
    before = datetime.now(UTC)
    laptop.proof().run()

    assert laptop.deadline.at is not None
    assert abs((laptop.deadline.at - before).total_seconds() - (laptop.ceiling.seconds - 60)) < 5


def test_after_a_failure_nothing_more_is_tried_and_everything_is_deleted(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, {"deploy": (0, 1)})

    evidence = laptop.proof().run()

    found = outcomes(evidence)
    assert (found["account"], found["deployment"], found["session"]) == ("passed", "failed", "not_tried")
    assert evidence.tried[1].exit_code == 1
    assert evidence.is_deleted
    assert not evidence.is_complete
    assert laptop.calls == ["preflight", "deploy", "destroy"]


def test_a_probe_is_ended_at_the_ceiling(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, {"deploy": (60, 0)})
    laptop.ceiling = Ceiling(10 * 61.5 / 3600, 10, 60)

    evidence = laptop.proof().run()

    assert outcomes(evidence)["deployment"] == "out_of_time"
    assert evidence.is_deleted
    assert evidence.spent_usd < evidence.ceiling_usd


def test_a_deletion_is_tried_again_and_the_deadline_stays_if_it_fails(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(monkeypatch, {"destroy": (0, 1)})
    laptop.ceiling = Ceiling(10 * 63 / 3600, 10, 1)

    evidence = laptop.proof().run()

    assert not evidence.is_deleted
    assert laptop.calls.count("destroy") >= 2
    assert laptop.deadline.asked == ["arm"]
    said = capsys.readouterr().err
    assert "The stack slipway-small-deadline goes on" in said
    assert "slipway destroy -e small" in said


@pytest.mark.parametrize("error", [RefusedError("another proof"), FailedError("not set")], ids=str)
def test_without_a_deadline_nothing_is_deployed(laptop: Laptop, error: Exception) -> None:
    laptop.deadline = NotedDeadline(error)

    with pytest.raises(type(error)):
        laptop.proof().run()

    assert laptop.calls == []


@pytest.mark.usefixtures("heard_ctrl_c")
def test_an_interrupt_deletes_everything(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, {"deploy": (60, 0)})
    threading.Thread(target=interrupt_at, args=(laptop, "deploy"), daemon=True).start()

    evidence = laptop.proof().run()

    assert outcomes(evidence) == {"account": "passed"}
    assert evidence.is_deleted
    assert not evidence.is_complete
    assert laptop.calls == ["preflight", "deploy", "destroy"]


@pytest.mark.parametrize(("usd", "fits"), [(5.0, True), (0.2, False), (float("nan"), False), (float("inf"), False)])
def test_a_ceiling_pays_for_deployment_probe_and_deletion(usd: float, fits: bool) -> None:
    ceiling = Ceiling(usd, 1.0, 600)

    if fits:
        ceiling.check()
    else:
        with pytest.raises(RefusedError, match=r"need \$0\.58"):
            ceiling.check()
