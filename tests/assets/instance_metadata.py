"""An instance metadata service on loopback that answers with a token only (IMDSv2), and tells of a Spot interruption.

Sources: EC2 user guide, Use IMDSv2 (PUT latest/api/token, X-aws-ec2-metadata-token, 401 without it) and Spot Instance
interruption notices (spot/instance-action: 404 until EC2 has decided; the document's `action` and `time`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NOTICE = '{"action": "terminate", "time": "2017-09-18T08:22:00Z"}'
TOKEN = "AQAEALmUm9uLLJ4iXg=="


class InstanceMetadata(ThreadingHTTPServer):
    """What it answers to `spot/instance-action`, one after the other; the last one stays."""

    def __init__(self, answers: list[tuple[int, str]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.asked = 0
        """How often it was asked with a token."""

    @property
    def address(self) -> str:
        """Its URL with the version, in the place of that of 169.254.169.254."""
        return f"http://127.0.0.1:{self.server_port}/latest"

    def give_notice(self) -> None:
        """From now on EC2 takes the instance."""
        self.answers = [(200, NOTICE)]


@contextmanager
def instance_metadata(*answers: tuple[int, str]) -> Iterator[InstanceMetadata]:
    """Serve; without answers there is no notice."""
    with InstanceMetadata(list(answers) or [(404, "")]) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: InstanceMetadata

    def do_PUT(self) -> None:
        wanted = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
        self._answer(200 if wanted else 400, TOKEN if wanted else "")

    def do_GET(self) -> None:
        if self.headers["X-aws-ec2-metadata-token"] != TOKEN:
            self._answer(401, "")
        elif self.path != "/latest/meta-data/spot/instance-action":
            self._answer(404, "")
        else:
            self.server.asked += 1
            answers = self.server.answers
            self._answer(*(answers.pop(0) if len(answers) > 1 else answers[0]))

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass
