"""Asks ParallelCluster as `slipway.review.judge.proceedings` does, in forks of one process (forking_judge.py)."""

import atexit
import json
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from slipway.assembly.process_groups import ProcessGroup
from slipway.review.judge.inside_parallelcluster.answer import Answer
from slipway.review.judge.parallelcluster_process import (
    PARALLELCLUSTER_PYTHON,
    TIME_LIMIT_SECONDS,
    closed_environment,
    unpack_packages,
)
from slipway.review.judge.proceedings import question_about
from slipway_emulator.capacity_reservations import CapacityReservation

_STARTING = Lock()


def ask_parallelcluster(
    assembly: Mapping[str, Any], directory: Path, reservations: Sequence[CapacityReservation] | None = None
) -> Answer:
    """Let the real aws-parallelcluster judge an assembly; the arguments are those of `proceedings`."""
    (directory / "request.json").write_text(json.dumps(question_about(assembly, reservations)), "utf-8")
    answer = directory / "answer.json"
    answer.unlink(missing_ok=True)
    with _STARTING:
        address = _judge()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TIME_LIMIT_SECONDS)
        connection.connect(str(address))
        connection.sendall(f"{directory}\n".encode())
        connection.recv(16)
    assert answer.exists(), (directory / "parallelcluster.log").read_text("utf-8")
    return Answer.from_json(answer.read_text("utf-8"))


@cache
def _judge() -> Path:
    """Start the process that forks, for as long as this one runs."""
    folder = TemporaryDirectory(prefix="judge-")
    home = Path(folder.name)
    address, log = home / "socket", home / "log"
    unpack_packages()
    program = Path(__file__).with_name("forking_judge.py")
    side = ProcessGroup([PARALLELCLUSTER_PYTHON, program, address], closed_environment(home), home, log)
    atexit.register(folder.cleanup)
    atexit.register(side.end)
    for _ in range(10 * TIME_LIMIT_SECONDS):
        with suppress(subprocess.TimeoutExpired):
            side.wait(0.1)
            break
        if address.exists():
            return address
    raise AssertionError(log.read_text("utf-8"))
