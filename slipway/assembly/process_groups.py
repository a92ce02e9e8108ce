"""Programs that run beside a command, each in a process group of its own that ends with the command."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

_GRACE_SECONDS = 5
"""How long a program may take to end by itself before it is killed."""

_RUNNING: set["ProcessGroup"] = set()


class ProcessGroup:
    """A program and all that it starts. Ctrl-C in a terminal does not reach it: its command ends it."""

    def __init__(
        self, command: Sequence[str | Path], variables: Mapping[str, str], folder: Path, log: Path | None
    ) -> None:
        """Start the program.

        Args:
            command: program and arguments.
            variables: its environment variables, all of them.
            folder: its working folder.
            log: file for all that it prints, written again; None: its output is shown.

        Raises:
            FileNotFoundError: there is no such program.
        """
        with log.open("w", encoding="utf-8") if log else nullcontext() as output:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if log else None,
                start_new_session=True,
            )
        _RUNNING.add(self)

    def wait(self, timeout_seconds: float | None = None) -> int:
        """Return the exit code when the program has ended.

        Raises:
            subprocess.TimeoutExpired: it has not ended in time.
        """
        code = self._process.wait(timeout_seconds)
        _RUNNING.discard(self)
        return code

    def end(self) -> None:
        """End the program and all that it started, if it still runs."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_GRACE_SECONDS)
        _RUNNING.discard(self)


def end_all() -> None:
    """End every program that runs, also those that other threads wait for."""
    for group in tuple(_RUNNING):
        group.end()
