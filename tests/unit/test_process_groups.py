"""Programs that run beside a command end with it, whole groups of them, and leave nothing in TMPDIR."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slipway.assembly.process_groups import ProcessGroup, end_all
from slipway.assembly.synthesis import start_synthesis
from tests.assembly import PROJECT

WAITING_SECONDS = 60.0


def appears(file: Path) -> None:
    deadline = time.monotonic() + WAITING_SECONDS
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < deadline, f"no {file}"
        time.sleep(0.05)


def is_gone(number: int) -> bool:
    try:
        # A zombie has ended: whoever started it has not asked yet.
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_all_that_a_program_started_ends_with_it(tmp_path: Path) -> None:
    script = 'sleep 300 & echo $! > child.new; trap "" TERM; mv child.new child; wait; sleep 300'
    group = ProcessGroup(["/bin/sh", "-c", script], os.environ, tmp_path, tmp_path / "log")
    appears(tmp_path / "child")

    end_all()

    assert group.wait() == -signal.SIGKILL
    assert is_gone(int((tmp_path / "child").read_text()))


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ProcessGroup([tmp_path / "missing"], {}, tmp_path, tmp_path / "log")


@pytest.mark.parametrize("last", ["sleep 300", "true"])
def test_a_synth_leaves_no_temporary_files(tmp_path: Path, last: str) -> None:
    app = f'touch "$TMPDIR/left"; echo "$TMPDIR" > made; {last}'
    (tmp_path / "cdk.json").write_text(json.dumps({"app": app}))
    synthesis = start_synthesis("default", tmp_path / "assembly", tmp_path / "app.log", project=tmp_path)
    appears(tmp_path / "made")

    if last == "true":
        synthesis.wait()
    else:
        synthesis.stop()

    temporary = Path((tmp_path / "made").read_text().strip())
    assert temporary.parent == tmp_path
    assert not temporary.exists()


JUDGE = """
import signal, sys
from pathlib import Path
# A shell's background job, which the tests may be, is born deaf to Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
from slipway.assembly import synthesis
from slipway.review.judge import proceedings, run as judge
synthesis.PROJECT = Path(sys.argv.pop(1))
from slipway.console import run
judge.DIRECTORY = synthesis.PROJECT / ".judge"
judge.environment_names = lambda: ["one", "two", "three"]
def synthesize(environment, directory, log):
    with_project = synthesis.start_synthesis(environment, directory, log, synthesis.PROJECT)
    with_project.wait()
proceedings.synthesize = synthesize
{more}
run(lambda: judge.run([], as_json=False))
"""

INTERRUPTED_AS_IT_STARTS = """
import threading
start = threading.Thread.start
def interrupted(thread):
    start(thread)
    while not list(synthesis.PROJECT.glob("app-*")): pass
    signal.raise_signal(signal.SIGINT)
threading.Thread.start = interrupted
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_judge_says_so_and_ends_its_programs(tmp_path: Path, number: int) -> None:
    """With synths that would take five minutes."""
    (tmp_path / "cdk.json").write_text('{"app": "echo $$ > app-$$; sleep 300"}')
    judge = start_judge(tmp_path)
    deadline = time.monotonic() + WAITING_SECONDS
    while not (started := list(tmp_path.glob("app-*"))) and time.monotonic() < deadline:
        time.sleep(0.05)
    judge.send_signal(number)

    ends(judge, tmp_path)
    assert started


def test_a_judge_interrupted_as_it_starts_a_synth_ends_it(tmp_path: Path) -> None:
    """Where the executor does not know its thread yet."""
    (tmp_path / "cdk.json").write_text('{"app": "echo $$ > app-$$; sleep 300"}')

    ends(start_judge(tmp_path, INTERRUPTED_AS_IT_STARTS), tmp_path)


def start_judge(project: Path, more: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", JUDGE.replace("{more}", more), str(project)]
    return subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ends(judge: subprocess.Popen[str], project: Path) -> None:
    try:
        _, said = judge.communicate(timeout=WAITING_SECONDS)
    finally:
        judge.kill()

    assert judge.returncode == 130, said
    assert said.endswith("\nstopping\n")
    assert "Traceback" not in said
    apps = list(project.glob("app-*"))
    assert all(is_gone(int(app.name.removeprefix("app-"))) for app in apps)
    assert len(apps) <= (os.cpu_count() or 1)
