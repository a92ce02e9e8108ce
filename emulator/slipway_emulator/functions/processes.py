"""Child processes that never outlive the emulator."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from slipway_emulator.functions import runtime

_LAUNCHER = Path(runtime.__file__).with_name("launch.py")


@dataclass(frozen=True)
class Finished:
    """How a process ended.

    Attributes:
        exit_code: As subprocess has it: negative for a signal.
        output: Standard output and error as they came.
        timed_out: Whether it was ended because its time was over.
        answer: What a function's handler returned or raised, as JSON; None when it got to neither.
    """

    exit_code: int
    output: str
    timed_out: bool
    answer: str | None = None


class Processes:
    """Runs programs to their end, each in a process group of its own."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def run(
        self, command: Sequence[str], *, folder: Path, environment: Mapping[str, str], text: str, timeout: float
    ) -> Finished:
        """Run a program and wait for it.

        Args:
            command: Program and arguments.
            folder: Its working directory.
            environment: Its whole environment.
            text: What it reads from standard input.
            timeout: Seconds after which it and everything it started is killed.
        """
        with self._lock:
            if self._closed:
                return Finished(-signal.SIGTERM, "the emulator is shutting down", timed_out=False)
            process = subprocess.Popen(
                # -I -S: the launcher needs nothing but the standard library, and starts in milliseconds.
                [sys.executable, "-I", "-S", str(_LAUNCHER), *command],
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._running.add(process)
        try:
            output, timed_out = self._communicate(process, text, timeout)
        finally:
            kill_group(process.pid)  # whatever it left running
            with self._lock:
                self._running.discard(process)
        return Finished(process.returncode, output.decode(errors="replace"), timed_out)

    @staticmethod
    def _communicate(process: subprocess.Popen[bytes], text: str, timeout: float) -> tuple[bytes, bool]:
        try:
            return process.communicate(text.encode(), timeout)[0], False
        except subprocess.TimeoutExpired:
            kill_group(process.pid)
            return process.communicate()[0], True

    def close(self) -> None:
        """Kill everything that runs, and start nothing any more."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            kill_group(process.pid)
            process.wait()


def kill_group(group: int) -> None:
    """Kill a process group, if anybody is left in it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
