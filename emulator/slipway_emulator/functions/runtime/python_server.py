"""Calls Python Lambda handlers, each in a fork of this process: imports take a second, those of pcluster three.

Run as ``python python_server.py MODULE...`` with a Unix socket for standard input: it imports the modules that there
are, and serves until the other end of the socket closes. A request is the path of a file, with a pipe: JSON of the
handler's ``folder``, ``environment``, ``text`` for standard input and the file ``exit_code`` to write to. The pipe gets
a line with the id of the handler's process group, then what the handler and its children print.
"""

import importlib
import io
import json
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import launch  # type: ignore[import-not-found]  # beside this file
import python_bootstrap  # type: ignore[import-not-found]  # beside this file

_LONGEST_PATH = 4096


def serve(requests: socket.socket) -> None:
    """Fork for each request, until there are no more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    while True:
        path, pipes, *_ = socket.recv_fds(requests, _LONGEST_PATH, 1)
        if not path:
            return
        if not os.fork():
            call(json.loads(Path(path.decode()).read_bytes()), *pipes)
        os.close(*pipes)


def call(request: dict[str, object], pipe: int) -> None:
    """Become the process that Lambda would start, call the handler, and end."""
    launch.end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.write(pipe, f"{os.getpid()}\n".encode())
    os.chdir(str(request["folder"]))
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]  # JSON
    sys.path[1:1] = os.environ["PYTHONPATH"].split(os.pathsep)
    for target, source in enumerate((os.open(os.devnull, os.O_RDONLY), pipe, pipe)):
        os.dup2(source, target)
    os.close(pipe)
    sys.stdin = io.StringIO(str(request["text"]))
    Path(str(request["exit_code"])).write_text(str(exit_code()), encoding="utf-8")
    os._exit(0)


def exit_code() -> int:
    """Call the handler as a program would, and answer what the program would end with."""
    try:
        python_bootstrap.main()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # the handler's, whatever it is
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def main() -> None:
    """Import, then serve."""
    for module in sys.argv[1:]:
        with suppress(ImportError):
            importlib.import_module(module)
    serve(socket.socket(fileno=os.dup(0)))


if __name__ == "__main__":
    main()
