"""Kills a piece of work at each of its file operations, in a child process for each."""

import os
import signal
import sys
from collections.abc import Callable

OPERATIONS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate"}
"""Audit events that Python raises before a file operation; `os.fsync`, which has none, is wrapped."""


def children_killed_at_each_file_operation(work: Callable[[], object], check: Callable[[], None]) -> int:
    """Run the work in child processes, the first one killed at its first file operation, the next one at its second.

    Each begins with what the one before has left. `check` is called after each. The last one is not killed, because it
    has fewer operations. What Python has buffered of a file is lost, as in a real kill.

    Returns:
        Number of killed children.
    """
    for killed in range(10_000):
        child = os.fork()
        if child == 0:
            _die_at(killed + 1)
            work()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        check()
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            return killed
        assert os.WTERMSIG(status) == signal.SIGKILL
    raise AssertionError("the work has no end")


def _die_at(operation: int) -> None:
    count, synchronize = 0, os.fsync

    def reached(event: str) -> None:
        nonlocal count
        if event in OPERATIONS:
            count += 1
            if count == operation:
                os.kill(os.getpid(), signal.SIGKILL)

    def fsync(descriptor: int) -> None:
        reached("open")
        synchronize(descriptor)

    os.fsync = fsync  # type: ignore[assignment]  # only called with numbers here
    sys.addaudithook(lambda event, _arguments: reached(event))
