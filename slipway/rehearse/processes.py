"""Child processes that end when the rehearsal ends, however it ends."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from slipway.rehearse.errors import RehearsalError

POLL_SECONDS = 0.2
GRACE_SECONDS = 15.0
"""How long a child may take to end by itself before it is killed. The emulator ends its own children in this time."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
# Looked up before any fork: a forked child should do as little as possible.
_PRCTL = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


class Interrupted(BaseException):
    """Someone asked the rehearsal to stop: Ctrl-C, `kill`, a closed terminal."""

    def __init__(self, number: int) -> None:
        """Remember which signal it was."""
        super().__init__(signal.Signals(number).name)
        self.number = number


class CommandTimeoutError(RehearsalError):
    """A command took longer than it may."""


def stop_on_signals() -> None:
    """Turn every stop signal into `Interrupted`."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(number)

    for number in STOP_SIGNALS:
        signal.signal(number, interrupt)


def _end_with_parent() -> None:
    """Ask Linux to end this child when its parent dies without a chance to clean up (SIGKILL)."""
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore stop signals for a while: cleaning up takes a bounded time and must come to its end."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Child:
    """A process with a group of its own, so that it can be stopped with all that it started."""

    def __init__(self, command: Sequence[str | Path], variables: Mapping[str, str], folder: Path, log: Path) -> None:
        """Start the command in the folder; standard output and error go to the end of the log file."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                env=dict(variables),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Not the terminal's group: Ctrl-C reaches the rehearsal alone, which stops its children in order.
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - this program has a single thread
            )

    @property
    def exit_code(self) -> int | None:
        """Exit code, or None while the process runs. What it left behind in its group ends with it."""
        running = self._process.returncode is None
        code = self._process.poll()
        if running and code is not None:
            # Now, and never later: the number of the group may belong to someone else by then.
            self._signal_group(signal.SIGKILL)
        return code

    def stop(self) -> None:
        """End the process and everything in its group; returns when the process is gone."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + GRACE_SECONDS
            if self.exit_code is None:
                self._signal_group(number)
            while self.exit_code is None and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS / 10)

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def run(
    command: Sequence[str | Path],
    *,
    variables: Mapping[str, str],
    folder: Path,
    log: Path,
    each_poll: Callable[[], None],
    timeout_seconds: float,
) -> int:
    """Run a command to its end and return its exit code.

    Args:
        command: program and arguments.
        variables: its environment variables, all of them.
        folder: its working folder.
        log: file that its output is appended to.
        each_poll: called a few times a second; an exception from it stops the command.
        timeout_seconds: how long the command may take.

    Raises:
        CommandTimeoutError: it took longer and was stopped.
    """
    deadline = time.monotonic() + timeout_seconds
    child = Child(command, variables, folder, log)
    try:
        while (code := child.exit_code) is None:
            each_poll()
            if time.monotonic() > deadline:
                raise CommandTimeoutError(f"no end after {timeout_seconds:.0f} s")
            time.sleep(POLL_SECONDS)
        return code
    finally:
        with undisturbed():
            child.stop()
