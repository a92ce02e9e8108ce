"""A Hugging Face Hub on loopback, for the real huggingface_hub.

What it answers is what huggingface_hub 2.4.0 reads: `HfApi.model_info` of hf_api.py (`/api/models/NAME`, with
`/revision/REVISION`; keys of ModelInfo, RepoSibling and BlobLfsInfo; `/api/datasets/NAME` and
`/datasets/NAME/resolve` for `HfApi.dataset_info`), `get_hf_file_metadata` of file_download.py
(X-Repo-Commit, ETag, Content-Length of `/NAME/resolve/REVISION/FILE`), `hf_raise_for_status` of utils/_http.py
(X-Error-Code) and `http_get` of file_download.py (Range).
"""

from __future__ import annotations

import contextlib
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

    kind: str = "model"
    """`model` or `dataset`."""
    name: str = "owner/model"
    commit: str = COMMIT
    files: dict[str, bytes] = field(default_factory=dict)
    license: str | list[str] | None = "apache-2.0"
    gated: bool = False
    token: str | None = None
    damaged: set[str] = field(default_factory=set)
    """Files that arrive with other bytes of the same number."""
    unavailable: dict[str, int] = field(default_factory=dict)
    """How often a file is answered with status 503 first."""
    stalled: set[str] = field(default_factory=set)
    """Files of which half arrives, and nothing more until the client leaves."""
    dropped: set[str] = field(default_factory=set)
    """Files of which half arrives the first time, when the connection ends."""
    ranges: list[str] = field(default_factory=list)
    """The Range of each request that has one."""
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
        return {"id": self.name, "sha": self.commit, "gated": self.gated, "cardData": card, "siblings": siblings}


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
            folder = "/datasets" if hub.kind == "dataset" else ""
            api, files = f"/api/{hub.kind}s/{hub.name}", f"{folder}/{hub.name}/resolve/"
            if path == api or path.startswith(f"{api}/revision/"):
                revision = path.removeprefix(api).removeprefix("/revision/")
                if revision not in ("", "main", hub.commit):
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
            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": hub.commit}
            status, start = 200, 0
            if with_content and (wanted := self.headers.get("Range")):
                hub.ranges.append(f"{name} {wanted}")
                status, start = 206, int(wanted.removeprefix("bytes=").partition("-")[0])
                headers["Content-Range"] = f"bytes {start}-{len(sent) - 1}/{len(sent)}"
            ends = None
            if with_content and name in hub.stalled | hub.dropped:
                ends = "dropped" if name in hub.dropped else "stalled"
                hub.dropped.discard(name)
            self._send(status, sent[start:], headers, with_content=with_content, half=ends)

        def _send(
            self,
            status: int,
            content: bytes,
            headers: dict[str, str],
            *,
            with_content: bool = True,
            half: str | None = None,
        ) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if not with_content or self.command == "HEAD":
                return
            if half:
                self.wfile.write(content[: len(content) // 2])
                self.wfile.flush()
                self.close_connection = True
                if half == "stalled":
                    # Readable at its end alone: the client sends nothing meanwhile.
                    with contextlib.suppress(ConnectionResetError):
                        self.connection.recv(1)
                return
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
