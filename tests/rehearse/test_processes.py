import os
import signal
import sys
import time
from pathlib import Path

import pytest

from slipway.rehearse import processes
from slipway.rehearse.processes import Child, CommandTimeoutError, Interrupted, run, undisturbed

VARIABLES = {"PATH": os.defpath}


def nothing() -> None:
    pass


def test_a_command_s_output_and_exit_code_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "run.log"
    command = (sys.executable, "-c", "import sys; print('out'); sys.exit(3)")
    code = run(command, variables=VARIABLES, folder=tmp_path, log=log, each_poll=nothing, timeout_seconds=10)
    assert code == 3
    assert log.read_text(encoding="utf-8") == "out\n"


def test_a_command_sees_only_its_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    log = tmp_path / "log"
    run(("env",), variables=VARIABLES, folder=tmp_path, log=log, each_poll=nothing, timeout_seconds=10)
    assert "AWS_PROFILE" not in log.read_text(encoding="utf-8")


def test_a_command_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(CommandTimeoutError, match="no end after 0 s"):
        run(
            ("sleep", "60"),
            variables=VARIABLES,
            folder=tmp_path,
            log=tmp_path / "log",
            each_poll=nothing,
            timeout_seconds=0.1,
        )


def test_stopping_a_child_ends_what_it_started(tmp_path: Path) -> None:
    child = Child(("sh", "-c", "sleep 600 & echo $!; wait"), VARIABLES, tmp_path, tmp_path / "log")
    grandchild = int(wait_for_text(tmp_path / "log"))
    child.stop()
    assert child.exit_code is not None
    assert not is_running(grandchild)


def test_a_child_that_will_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.2)
    child = Child(("sh", "-c", "trap '' TERM; echo ready; sleep 600; sleep 600"), VARIABLES, tmp_path, tmp_path / "log")
    wait_for_text(tmp_path / "log")
    child.stop()
    assert child.exit_code == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="the parent-death signal is Linux's")
def test_a_child_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys, time; from slipway.rehearse.processes import Child; "
        "command = ('sh', '-c', 'echo $$; exec sleep 600'); "
        "Child(command, dict(os.environ), pathlib.Path('.'), pathlib.Path(sys.argv[1])); time.sleep(600)"
    )
    inner = tmp_path / "inner.log"
    parent = Child((sys.executable, "-c", code, inner), dict(os.environ), Path.cwd(), tmp_path / "outer.log")
    grandchild = int(wait_for_text(inner))
    parent._process.kill()
    parent._process.wait()
    assert not is_running(grandchild)


@pytest.mark.parametrize("number", processes.STOP_SIGNALS)
def test_stop_signals_interrupt_except_while_undisturbed(number: signal.Signals) -> None:
    before = {each: signal.getsignal(each) for each in processes.STOP_SIGNALS}
    try:
        processes.stop_on_signals()
        with undisturbed():
            os.kill(os.getpid(), number)
        with pytest.raises(Interrupted) as interrupt:
            signal.raise_signal(number)
        assert interrupt.value.number == number
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def wait_for_text(path: Path) -> str:
    deadline = time.monotonic() + 10
    while not (path.exists() and path.read_text(encoding="utf-8").endswith("\n")):
        assert time.monotonic() < deadline, f"nothing in {path}"
        time.sleep(0.02)
    return path.read_text(encoding="utf-8")


def is_running(pid: int) -> bool:
    """Whether the process exists a moment later; one that nobody has waited for counts as gone."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True
