"""HTTP servers in the place of an engine and of the ECS agent, and the sidecar as a process between them.

The agent: Amazon ECS developer guide, "Task scale-in protection endpoint": PUT of ProtectionEnabled and
ExpiresInMinutes to $ECS_AGENT_URI/task-protection/v1/state. The engines' texts (`engine_metrics/`) have names, kinds
and labels of each engine's source (TGI 3.3.5 router/src/server.rs; vLLM 0.11.0 and 0.16.0 v1/metrics/loggers.py), not
all of its metrics, and made-up values: none was recorded from an engine that ran.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.assets.embedded_metric_format import Datum, extracted

RECORDED = Path(__file__).parent / "engine_metrics"
SCRIPT = Path(__file__).parents[2] / "assets" / "inference" / "engine_metrics.py"
PATIENCE_SECONDS = 60
"""How long a test waits for what must come; a busy machine is slow."""


@dataclass
class Answers:
    """What a server answers, and what it was asked."""

    text: str = ""
    status: int = 200
    hold: threading.Event | None = None
    """Until it is set no answer comes."""
    cut: bool = False
    """Whether answers break off in the middle."""
    asked: list[tuple[str, str, Any]] = field(default_factory=list)


@contextmanager
def server(answers: Answers) -> Iterator[str]:
    """Run a server; yield its URL without a path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_PUT(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: Any) -> None:
            answers.asked.append((self.command, self.path, body))
            if answers.hold:
                answers.hold.wait(PATIENCE_SECONDS)
            data = answers.text.encode()
            self.send_response(answers.status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if answers.cut else data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def handle(self) -> None:
            # A client that went away is no error of the test.
            with suppress(OSError):
                super().handle()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}"
        finally:
            if answers.hold:
                answers.hold.set()
            running.shutdown()
            thread.join()


def until(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


@dataclass
class Running:
    """The sidecar as a process."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    """What it has printed so far, errors too: both are the container's log."""

    def data(self, metric: str) -> list[Datum]:
        """What CloudWatch has of a metric."""
        return [datum for line in list(self.lines) for datum in extracted(line) if datum.name == metric]

    def total(self, metric: str) -> float:
        """The sum of a metric over all minutes."""
        return sum(sum(datum.values) for datum in self.data(metric))

    def stop(self) -> int:
        """End it as ECS does; return its status."""
        self.process.terminate()
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def sidecar(environment: Mapping[str, str], command: Sequence[str] = ()) -> Iterator[Running]:
    """Run the sidecar with seconds instead of minutes.

    Args:
        environment: all of its environment.
        command: what is run; left out, the script.
    """
    process = subprocess.Popen(
        list(command) or [sys.executable, "-I", "-c", SCRIPT.read_text(encoding="utf-8")],
        env={"SLIPWAY_SCRAPE_SECONDS": "0.05", "SLIPWAY_REPORT_SECONDS": "0.3", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    running = Running(process)
    assert process.stdout is not None
    reader = threading.Thread(target=_read, args=(process, running.lines))
    reader.start()
    try:
        yield running
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()


def _read(process: subprocess.Popen[str], lines: list[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
