"""The address that custom resources answer to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

from slipway_emulator.settings import HOST


@dataclass
class Answer:
    """A custom resource's answer, once it has come."""

    url: str
    content: dict[str, Any] | None = None
    _arrived: threading.Event = field(default_factory=threading.Event)

    def arrive(self, content: dict[str, Any]) -> None:
        """Take the first answer; CloudFormation ignores later ones."""
        if not self._arrived.is_set():
            self.content = content
            self._arrived.set()


class ResponseServer:
    """Receives the PUT requests with which Lambda functions answer CloudFormation."""

    def __init__(self) -> None:
        self._pending: dict[str, Answer] = {}
        self._server = ThreadingHTTPServer((HOST, 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="responses", daemon=True).start()

    @property
    def port(self) -> int:
        """The TCP port on loopback."""
        return int(self._server.server_address[1])

    @contextmanager
    def expecting(self) -> Iterator[Answer]:
        """An address of its own for one request; it is forgotten afterwards."""
        token = uuid4().hex
        answer = self._pending[token] = Answer(f"http://{HOST}:{self.port}/{token}")
        try:
            yield answer
        finally:
            del self._pending[token]

    def close(self) -> None:
        """Stop receiving."""
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        pending = self._pending

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = pending.get(self.path.split("?")[0].strip("/"))
                if answer:
                    answer.arrive(json.loads(body))
                self.send_response(200 if answer else 404)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
                """Stay silent: the functions have logs of their own."""

        return Handler
