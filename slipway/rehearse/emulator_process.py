"""The emulator as a child process."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from slipway.assembly.cdk_cli import explain_failure
from slipway.rehearse.errors import RehearsalError
from slipway.rehearse.isolation import require_loopback
from slipway.rehearse.processes import POLL_SECONDS, Child, undisturbed

START_SECONDS = 90.0
"""How long the emulator may take until it answers; about five seconds is usual."""


class EmulatorFailedError(RehearsalError):
    """The emulator did not start, or ended while it was needed."""


class EmulatorProcess:
    """A running emulator on a free loopback port.

    Attributes:
        endpoint: its URL.
    """

    def __init__(
        self, command: Sequence[str | Path], variables: Mapping[str, str], project: Path, output: Path
    ) -> None:
        """Start it and wait until it answers.

        Args:
            command: the program and its options.
            variables: its environment variables, all of them.
            project: the folder it runs in, so that Python finds its package.
            output: file for what it prints; the first line of JSON has its port.

        Raises:
            EmulatorFailedError: it ended, or did not answer in time.
        """
        self._output = output
        self._child = Child(command, variables, project, output)
        try:
            self.endpoint = require_loopback(f"http://127.0.0.1:{self._wait_for_port()}")
        except BaseException:
            self.stop()
            raise

    def _wait_for_port(self) -> int:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for line in self._output.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
                if line.startswith("{") and line.endswith("\n"):
                    return int(json.loads(line)["port"])
            self.require_alive()
            time.sleep(POLL_SECONDS)
        raise EmulatorFailedError(f"the emulator did not answer within {START_SECONDS:.0f} s; see {self._output}")

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._child.exit_code is None

    def require_alive(self) -> None:
        """Check that it still runs.

        Raises:
            EmulatorFailedError: it ended.
        """
        if (code := self._child.exit_code) is not None:
            said = explain_failure(self._output.read_text(encoding="utf-8", errors="replace"))
            raise EmulatorFailedError(f"the emulator ended with exit code {code}\n{said}")

    def stop(self) -> None:
        """End it and everything it started."""
        with undisturbed():
            self._child.stop()
