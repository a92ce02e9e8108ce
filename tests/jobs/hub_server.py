"""A Hugging Face Hub on loopback, for the real huggingface_hub.

What it answers is what huggingface_hub 2.4.0 reads: `HfApi.model_info` of hf_api.py (`/api/models/NAME`, with
`/revision/REVISION`; keys of ModelInfo, RepoSibling and BlobLfsInfo), `get_hf_file_metadata` of file_download.py
(X-Repo-Commit, ETag, Content-Length of `/NAME/resolve/REVISION/FILE`), `hf_raise_for_status` of utils/_http.py
(X-Error-Code) and `http_get` of file_download.py (Range).
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE_BYTES = 1000
"""From this size on a file is one of Git LFS, whose SHA-256 the Hub names."""


@dataclass
class HubServer:
    """One repository, with what goes wrong with it."""

    name: str = "owner/model"
    files: dict[str, bytes] = field(default_factory=dict)
    license: str | None = "apache-2.0"
    gated: bool = False
    token: str | None = None
    damaged: set[str] = field(default_factory=set)
    """Files that arrive with other bytes of the same number."""
    unavailable: dict[str, int] = field(default_factory=dict)
    """How often a file is answered with status 503 first."""
    requests: list[str] = field(default_factory=list)
    """Method and path of each request."""
    url: str = ""

    def given(self, file: str) -> int:
        """How often a file's content was asked for."""
        return sum(request.startswith("GET") and request.endswith(f"/{file}") for request in self.requests)

    def info(self) -> dict[str, Any]:
        """What `model_info(files_metadata=True)` reads."""
        siblings = [_sibling(name, content) for name, content in self.files.items()]
        card = {"license": self.license} if self.license else {}
        return {"id": self.name, "sha": COMMIT, "gated": self.gated, "cardData": card, "siblings": siblings}


def _sibling(name: str, content: bytes) -> dict[str, Any]:
    described: dict[str, Any] = {
        "rfilename": name,
        "size": len(content),
        "blobId": hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest(),
    }
    if len(content) >= LARGE_BYTES:
        sha256 = hashlib.sha256(content).hexdigest()
        described["lfs"] = {"size": len(content), "sha256": sha256, "pointerSize": 134}
    return described


@contextmanager
def hub_server(hub: HubServer) -> Iterator[HubServer]:
    """Serve a repository until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Nothing."""

        def do_HEAD(self) -> None:
            self._answer(with_content=False)

        def do_GET(self) -> None:
            self._answer(with_content=True)

        def _answer(self, *, with_content: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append(f"{self.command} {path}")
            api, files = f"/api/models/{hub.name}", f"/{hub.name}/resolve/"
            if path == api or path.startswith(f"{api}/revision/"):
                revision = path.removeprefix(api).removeprefix("/revision/")
                if revision not in ("", "main", COMMIT):
                    self._send(404, b"", {"X-Error-Code": "RevisionNotFound"})
                    return
                self._send(200, json.dumps(hub.info()).encode(), {"Content-Type": "application/json"})
            elif path.startswith(files):
                self._file(path.removeprefix(files).partition("/")[2], with_content=with_content)
            else:
                self._send(404, b"", {"X-Error-Code": "RepoNotFound"})

        def _file(self, name: str, *, with_content: bool) -> None:
            if hub.gated and self.headers.get("Authorization") != f"Bearer {hub.token}":
                self._send(403, b"", {"X-Error-Code": "GatedRepo"})
                return
            if name not in hub.files:
                self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
                return
            if with_content and hub.unavailable.get(name):
                hub.unavailable[name] -= 1
                self._send(503, b"", {})
                return
            content = hub.files[name]
            described = _sibling(name, content)
            etag = described.get("lfs", {}).get("sha256") or described["blobId"]
            sent = content[::-1] if name in hub.damaged else content
            self._send(200, sent, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}, with_content=with_content)

        def _send(self, status: int, content: bytes, headers: dict[str, str], *, with_content: bool = True) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if with_content and self.command != "HEAD":
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
