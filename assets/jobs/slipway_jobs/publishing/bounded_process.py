"""A program of minutes or hours: bounded, its life shown, never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

_TELL_SECONDS = 60.0
_END_SECONDS = 20.0


def run_bounded(
    command: Sequence[str],
    *,
    seconds: float,
    tell: Callable[[str], None],
    environment: Mapping[str, str] | None = None,
) -> str | None:
    """Run a program with this process's output, and say every minute that it runs.

    Args:
        command: program and arguments.
        seconds: its longest time.
        tell: called with a line of progress.
        environment: variables beside those of this process.

    Returns:
        What went wrong; none when it ended with status 0.
    """
    try:
        process = subprocess.Popen(
            command, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        return f"{command[0]} cannot be started: {error}"
    started = time.monotonic()
    try:
        while True:
            passed = time.monotonic() - started
            try:
                status = process.wait(timeout=max(0.0, min(_TELL_SECONDS, seconds - passed)))
            except subprocess.TimeoutExpired:
                passed = time.monotonic() - started
                if passed >= seconds:
                    return f"{command[0]} did not end within {seconds / 3600:.1f} hours"
                tell(f"{os.path.basename(command[0])} has run for {passed / 60:.0f} minutes")  # noqa: PTH119
                continue
            return f"{command[0]} ended with status {status}; its output is above" if status else None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and what it started, when this process gives up or is told to stop."""
    if process.poll() is not None:
        return
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
            process.wait(timeout=_END_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        return
