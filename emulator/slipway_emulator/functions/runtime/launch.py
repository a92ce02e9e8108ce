"""Become a program that the kernel ends when the process that started it ends.

Run as ``python launch.py PROGRAM ARGUMENT...``. Where the kernel cannot do that (it is Linux's
``PR_SET_PDEATHSIG``), the program runs all the same; the emulator then ends it on shutdown.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Ask the kernel for the parent's death signal."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Ask for the parent's death signal, then replace this process by the program."""
    end_with_parent()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
