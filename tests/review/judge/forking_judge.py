"""Judges many questions: `PARALLELCLUSTER_PYTHON forking_judge.py SOCKET` imports ParallelCluster once, then forks.

To import it takes a third of the time of a question. Each answer still comes from a process of its own, and the CDK,
whose Node.js cannot be forked, is imported there. It ends with the process that started it.
"""

import gc
import os
import signal
import socketserver
import sys
import traceback
from pathlib import Path

from slipway.review.judge.inside_parallelcluster.__main__ import answer_request

_PARENT = os.getppid()


class Question(socketserver.StreamRequestHandler):
    """One question, in a process of its own: a folder with request.json, which gets answer.json."""

    def handle(self) -> None:
        os.setsid()
        folder = Path(self.rfile.readline().decode().rstrip("\n"))
        os.environ.update(HOME=str(folder), TMPDIR=str(folder))
        os.chdir(folder)
        with (folder / "parallelcluster.log").open("w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        try:
            answer_request(folder / "request.json", folder / "answer.json")
        except BaseException:
            traceback.print_exc()
        self.wfile.write(b"done\n")
        self.wfile.flush()
        # With Node.js, and without the thread of a refused cluster that still imports the CDK.
        os.killpg(0, signal.SIGKILL)


class Judge(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """Forks for each question."""

    def service_actions(self) -> None:
        super().service_actions()
        if os.getppid() != _PARENT:
            sys.exit()


if __name__ == "__main__":
    # What is there already belongs to every question: a collection in a fork would copy it.
    gc.freeze()
    address = Path(sys.argv[1])
    unannounced = address.with_suffix(".new")
    with Judge(str(unannounced), Question) as server:
        # The socket's file is there before anyone can connect to it: show it only now.
        unannounced.rename(address)
        server.serve_forever()
