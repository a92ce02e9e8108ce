"""A stand-in for the Kubernetes API on loopback: over TLS, with a token, with the rights of a role.

It behaves as the real one in what the kit uses (kubernetes.io/docs/reference/using-api/api-concepts): conflicts, label
selectors, resource versions, and objects that stay with a deletionTimestamp while something belongs to them.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import ssl
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import trustme
from aiohttp import web

NAMESPACE = "slipway"
TOKEN = "token-of-the-service-account"

Object = dict[str, Any]
Call = tuple[str, str, str]
"""Verb, API group and resource, as a role has them."""


class ApiServer:
    """The API with what is stored in it. Objects are dictionaries; tests change their status as controllers do."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.calls: list[Call] = []
        self.allowed: set[Call] | None = None
        """What the role allows; everything where it is none."""
        self.token = TOKEN
        self.kinds = {"jobsets", "mpijobs", "workloads", "pods"}
        """Resources that the cluster has definitions of."""
        self.lingering = False
        """Whether what belongs to a deleted object takes its time."""
        self.answers: list[tuple[str, Callable[[], web.Response] | int, bool]] = []
        """For the next calls of a verb: an HTTP status, or 0 to cut the connection, and whether the work is done."""
        self.before: Callable[[str, str], None] = lambda _verb, _name: None
        """Called before each call is answered, with its verb and resource: time passes meanwhile."""
        self._versions = itertools.count(1)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = 0

    def start(self, directory: Path) -> None:
        """Listen on a free port, and write token and certificate authority as a pod has them."""
        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        directory.mkdir(parents=True)
        authority.cert_pem.write_to_path(str(directory / "ca.crt"))
        (directory / "token").write_text(TOKEN, encoding="utf-8")
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(context), self._loop).result(30)

    def stop(self) -> None:
        """Stop listening."""
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    def put(self, resource: str, name: str, **fields: Any) -> Object:
        """Store an object as a controller does."""
        metadata = {"name": name, "namespace": NAMESPACE, "labels": {}} | fields.pop("metadata", {})
        found = self._stored({"metadata": metadata} | fields)
        self.objects[resource, name] = found
        return found

    def status(self, resource: str, name: str, **status: Any) -> None:
        """Change an object's status."""
        self.objects[resource, name]["status"] = status

    def condition(self, resource: str, name: str, kind: str, message: str = "") -> None:
        """Let a condition become true."""
        self.status(resource, name, conditions=[{"type": kind, "status": "True", "reason": kind, "message": message}])

    def answer(self, verb: str, status: int, *, times: int = 1, done: bool = False) -> None:
        """Answer the next calls of a verb with an HTTP status; 0 cuts the connection. `done`: after the work."""
        self.answers += [(verb, status, done)] * times

    async def _listen(self, context: ssl.SSLContext) -> None:
        application = web.Application()
        for prefix in ("/api/v1", "/apis/{group}/{version}"):
            place = f"{prefix}/namespaces/{NAMESPACE}/{{resource}}"
            application.router.add_get(place, self._handler("list"))
            application.router.add_post(place, self._handler("create"))
            application.router.add_get(f"{place}/{{name}}", self._handler("get"))
            application.router.add_delete(f"{place}/{{name}}", self._handler("delete"))
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        self.port = self._runner.addresses[0][1]

    def _handler(self, verb: str) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            if request.headers.get("Authorization", "").casefold() != f"bearer {self.token}":
                return _failure(401, "Unauthorized")
            group, resource = request.match_info.get("group", ""), request.match_info["resource"]
            self.before(verb, resource)
            self.calls.append((verb, group, resource))
            if self.allowed is not None and (verb, group, resource) not in self.allowed:
                account = f"system:serviceaccount:{NAMESPACE}:jobs"
                return _failure(403, f'{resource}.{group} is forbidden: User "{account}" cannot {verb} resource')
            if resource not in self.kinds:
                return web.Response(status=404, text="404 page not found\n")
            planned = next((one for one in self.answers if one[0] == verb), None)
            if planned is not None:
                self.answers.remove(planned)
                if planned[2]:
                    await getattr(self, f"_{verb}")(request, resource)
                return _planned(request, planned[1])
            answer: web.Response = await getattr(self, f"_{verb}")(request, resource)
            return answer

        return handle

    async def _list(self, request: web.Request, resource: str) -> web.Response:
        selector = [term for term in request.query.get("labelSelector", "").split(",") if term]
        items = [one for (kind, _), one in self.objects.items() if kind == resource and _selected(one, selector)]
        return web.json_response({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items})

    async def _get(self, request: web.Request, resource: str) -> web.Response:
        found = self.objects.get((resource, request.match_info["name"]))
        return web.json_response(found) if found else _not_found(request)

    async def _create(self, request: web.Request, resource: str) -> web.Response:
        body = await request.json()
        key = (resource, body["metadata"]["name"])
        if key in self.objects:
            return _failure(409, f'{resource} "{key[1]}" already exists')
        self.objects[key] = self._stored(body)
        return web.json_response(self.objects[key], status=201)

    async def _delete(self, request: web.Request, resource: str) -> web.Response:
        name = request.match_info["name"]
        if (found := self.objects.get((resource, name))) is None:
            return _not_found(request)
        assert request.query.get("propagationPolicy") == "Foreground"
        if self.lingering:
            found["metadata"] |= {"deletionTimestamp": "2026-11-22T06:00:00Z", "finalizers": ["foregroundDeletion"]}
        else:
            del self.objects[resource, name]
        return web.json_response(found)

    def _stored(self, body: Mapping[str, Any]) -> Object:
        stored: Object = copy.deepcopy(dict(body))
        stored["metadata"] |= {"uid": str(uuid.uuid4()), "resourceVersion": str(next(self._versions))}
        return stored


def _selected(found: Object, selector: list[str]) -> bool:
    labels = found["metadata"].get("labels", {})
    for term in selector:
        key, _, value = term.partition("=")
        if key not in labels or (value and labels[key] != value):
            return False
    return True


def _planned(request: web.Request, status: Any) -> web.Response:
    if status:
        return _failure(status, f"planned {status}")
    assert request.transport is not None
    request.transport.close()
    return web.Response()


def _not_found(request: web.Request) -> web.Response:
    return _failure(404, f'{request.match_info["resource"]} "{request.match_info["name"]}" not found')


def _failure(status: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "status": "Failure", "message": message, "code": status}, status=status)
