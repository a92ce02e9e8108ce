"""One cluster's API server: HTTPS on a loopback port."""

import json
import re
import ssl
import threading
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from slipway_emulator.kubernetes_api import discovery
from slipway_emulator.kubernetes_api.kinds import Kind
from slipway_emulator.kubernetes_api.objects import Manifest, Objects
from slipway_emulator.kubernetes_api.refusal import RefusalError, not_found
from slipway_emulator.settings import HOST

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_POLL_SECONDS = 0.05
"""How often the server checks for its shutdown. The deletion of a cluster waits for that."""
_RESOURCE = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+/[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?"
)


class ApiServer:
    """Serves the objects of a cluster until it is closed.

    Args:
        objects: What it serves.
        context: Its certificate.
    """

    def __init__(self, objects: Objects, context: ssl.SSLContext) -> None:
        self.objects = objects
        self._server = ThreadingHTTPServer((HOST, 0), _handler(objects))
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="kubernetes-api", daemon=True
        ).start()

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"https://{HOST}:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def answer(objects: Objects, method: str, url: str, body: bytes) -> tuple[HTTPStatus, dict[str, Any]]:
    """Answer one request.

    Args:
        objects: The cluster's.
        method: ``GET``, ``POST``, ``PATCH``, ``PUT`` or ``DELETE``.
        url: Path and query.
        body: JSON, or nothing.

    Raises:
        RefusalError: the API refuses it.
    """
    parts = urlsplit(url)
    if method == "GET" and (found := _discovered(objects, parts.path)):
        return HTTPStatus.OK, found
    match = _RESOURCE.fullmatch(parts.path)
    if match is None:
        raise not_found("the server could not find the requested resource", parts.path)
    kind = objects.kind(match["core"] or match["group"], match["plural"])
    namespace, name = match["namespace"] or "", match["name"] or ""
    if method == "GET" and not name:
        return HTTPStatus.OK, _listed(objects, kind, namespace, dict(parse_qsl(parts.query)))
    if method == "GET":
        return HTTPStatus.OK, objects.get(kind, namespace, name)
    if method == "POST":
        return HTTPStatus.CREATED, objects.create(kind, namespace, json.loads(body))
    if method == "PATCH":
        return HTTPStatus.OK, objects.replace(kind, namespace, name, _applied(json.loads(body)))
    if method == "DELETE":
        return HTTPStatus.OK, objects.delete(kind, namespace, name)
    raise RefusalError(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", f"{method} is not allowed")


def _discovered(objects: Objects, path: str) -> dict[str, Any] | None:
    kinds = objects.kinds()
    answers: dict[str, Callable[[], dict[str, Any]]] = {
        "/version": lambda: discovery.version(objects.version),
        "/api": discovery.core_versions,
        "/apis": lambda: discovery.groups(kinds),
        "/openapi/v3": lambda: discovery.schema_paths(kinds),
        **{kind.root: partial(discovery.resources, kinds, kind.group_version) for kind in kinds},
        **{f"/openapi/v3{kind.root}": partial(discovery.schema, kinds, kind.root) for kind in kinds},
    }
    return answers[path]() if path in answers else None


def _listed(objects: Objects, kind: Kind, namespace: str, query: Mapping[str, str]) -> dict[str, Any]:
    labels = dict(_equation(text) for text in query.get("labelSelector", "").split(",") if text)
    name = query.get("fieldSelector", "").partition("metadata.name=")[2] or None
    items = objects.listed(kind, namespace, labels, name)
    metadata = {"resourceVersion": "1"}
    return {"kind": f"{kind.kind}List", "apiVersion": kind.group_version, "metadata": metadata, "items": items}


def _equation(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value.removeprefix("=")


def _applied(patch: Manifest) -> Manifest:
    """Return the whole manifest behind a patch: `kubectl apply` writes it into an annotation of the patch.

    Raises:
        RefusalError: the patch comes from something else, which this server cannot merge.
    """
    text = patch.get("metadata", {}).get("annotations", {}).get(_APPLIED)
    if text is None:
        message = "only patches of kubectl apply are understood here"
        raise RefusalError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    manifest: Manifest = json.loads(text)
    annotations = {**manifest["metadata"].get("annotations", {}), _APPLIED: text}
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


def _check_token(header: str) -> None:
    """Refuse what does not come with a token of `aws eks get-token`; whose it is stays unknown here."""
    if not header.startswith("Bearer k8s-aws-v1."):
        raise RefusalError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")


def _handler(objects: Objects) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                _check_token(self.headers.get("Authorization", ""))
                code, content = answer(objects, self.command, self.path, body)
            except RefusalError as refusal:
                code, content = refusal.code, refusal.status()
            text = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815  # the base class's names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
            """Stay silent: kubectl's own output is in the function's log."""

    return Handler
