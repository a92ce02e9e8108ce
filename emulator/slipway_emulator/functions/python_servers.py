"""Processes that have imported what Python functions import, one per interpreter; each function runs in a fork."""

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slipway_emulator.failures import ProvisioningError
from slipway_emulator.functions import runtime
from slipway_emulator.functions.processes import Finished, kill_group

_RUNTIME = Path(runtime.__file__).parent
IMPORTED = ("boto3", "pcluster.lib")
"""Modules that functions import and that take long."""
_OF_SERVER = ("PATH", "LANG", "LC_ALL", "HOME", "TMPDIR")
"""Variables of a function that its server has as well."""


@dataclass(frozen=True)
class _Server:
    process: subprocess.Popen[bytes]
    requests: socket.socket


class PythonServers:
    """Starts a server for an interpreter when its first function runs."""

    def __init__(self) -> None:
        self._servers: dict[str, _Server] = {}
        self._groups: set[int] = set()
        self._lock = threading.Lock()
        self._closed = False

    def run(
        self, python: str, sandbox: Path, *, folder: Path, environment: Mapping[str, str], text: str, timeout: float
    ) -> Finished:
        """Run a handler in a fork of the interpreter's server and wait for it.

        Args:
            python: The interpreter.
            sandbox: An empty folder for what the server is asked.
            folder: The handler's working directory.
            environment: Its whole environment.
            text: What it reads from standard input.
            timeout: Seconds after which it and everything it started is killed.

        Raises:
            ProvisioningError: The server does not start.
        """
        request, exit_code = sandbox / "request.json", sandbox / "exit_code"
        asked = {"folder": str(folder), "environment": dict(environment), "text": text, "exit_code": str(exit_code)}
        request.write_text(json.dumps(asked), encoding="utf-8")
        output, timed_out = self._output(python, request, environment, timeout)
        # A handler that is killed has no time to write it.
        code = int(exit_code.read_text(encoding="utf-8")) if exit_code.exists() else -signal.SIGKILL
        return Finished(code, output.decode(errors="replace"), timed_out)

    def close(self) -> None:
        """Kill everything that runs, and start nothing any more."""
        with self._lock:
            self._closed = True
            groups, servers = list(self._groups), list(self._servers.values())
        for group in groups:
            kill_group(group)
        for server in servers:
            server.requests.close()
            server.process.kill()
            server.process.wait()

    def _output(self, python: str, request: Path, environment: Mapping[str, str], timeout: float) -> tuple[bytes, bool]:
        """Return what a handler printed, and whether it was killed because its time was over."""
        reading, writing = os.pipe()
        overdue = threading.Event()
        with open(reading, "rb") as pipe:  # noqa: PTH123  # a descriptor
            with self._lock:  # one request at a time is on its way
                try:
                    server = self._server(python, environment)
                    socket.send_fds(server.requests, [str(request).encode()], [writing])
                finally:
                    os.close(writing)
                line = pipe.readline()
                if not line:
                    raise ProvisioningError(f"{python} does not serve functions: {server.process.poll()}")
                group = int(line)
                self._groups.add(group)

            def end() -> None:
                overdue.set()
                kill_group(group)

            timer = threading.Timer(timeout, end)
            timer.start()
            try:
                return pipe.read(), overdue.is_set()
            finally:
                timer.cancel()
                kill_group(group)  # whatever it left running
                with self._lock:
                    self._groups.discard(group)

    def _server(self, python: str, environment: Mapping[str, str]) -> _Server:
        if self._closed:
            raise ProvisioningError("the emulator is shutting down")
        if python not in self._servers:
            here, there = socket.socketpair()
            own = {name: value for name, value in environment.items() if name in _OF_SERVER}
            with there:
                process = subprocess.Popen(
                    (python, str(_RUNTIME / "python_server.py"), *IMPORTED),
                    env={**own, "PYTHONPATH": str(_RUNTIME)},
                    stdin=there.fileno(),
                    stdout=subprocess.DEVNULL,
                )
            self._servers[python] = _Server(process, here)
        return self._servers[python]
