"""A load balancer on loopback that does what a synthesized template says, as AWS documents Application Load Balancers.

It has no idea of Slipway: listeners, rules, actions, transforms, target groups and attributes come from the template,
and what it does not know it refuses. Not proven by it: what AWS leaves undocumented (each place says so), the firewall,
security groups, HTTP/2.
"""

import asyncio
import random
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from joserfc.jwk import KeySetSerialization
from yarl import URL

from tests.endpoint.gateway_rules import ReceivedRequest, chosen_by_weight, redirected, rewritten, rule_for
from tests.endpoint.gateway_targets import TargetGroup
from tests.endpoint.gateway_template import (
    FixedResponse,
    Forward,
    JwtValidation,
    KnownRule,
    Listener,
    LoadBalancerTemplate,
    Redirect,
)
from tests.endpoint.gateway_tokens import token_is_valid

_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "content-length"})
_WITHOUT_EFFECT_ON_ANSWERS = re.compile(
    r"(access_logs|connection_logs|health_check_logs|deletion_protection)\..*|routing\.http\.desync_mitigation_mode"
)
_TLS_VERSIONS = {"TLS13-1-2": ssl.TLSVersion.TLSv1_2, "TLS13-1-3": ssl.TLSVersion.TLSv1_3}
_VALID_HEADER_NAME = re.compile(r"[-A-Za-z0-9]+")


@dataclass(frozen=True, kw_only=True)
class Access:
    """One line of the access log."""

    method: str
    target: str
    priority: int
    """Priority of the rule that took the request; above 50000 it is the default one."""

    status: int
    target_group: str | None


@dataclass(frozen=True, kw_only=True)
class Reality:
    """What exists in for AWS around the load balancer."""

    scale: float
    """Real seconds for one of the template's."""

    certificate: Callable[[ssl.SSLContext], None]
    """Loads the endpoint's certificate."""

    key_sets: Mapping[str, str]
    """Loopback address for each JWKS endpoint that the template names."""

    chance: random.Random = field(default_factory=lambda: random.Random(7))
    """Decides by weight."""

    closes_drained_connections: bool = True
    """Whether a request that outlives the deregistration delay is cut off; AWS does not say."""


class Gateway:
    """The running load balancer."""

    ports: dict[int, int]
    """Loopback port of each listener by the template's port."""

    log: list[Access]

    def __init__(self, template: LoadBalancerTemplate, reality: Reality) -> None:
        """Read the attributes.

        Raises:
            ValueError: an attribute or policy that the gateway does not know.
        """
        attributes = {
            name: value
            for name, value in template.load_balancer.load_balancer_attributes.items()
            if not _WITHOUT_EFFECT_ON_ANSWERS.fullmatch(name)
        }
        self.idle_timeout_seconds = int(attributes.pop("idle_timeout.timeout_seconds", "60"))
        self._drops_invalid_headers = attributes.pop("routing.http.drop_invalid_header_fields.enabled", "false")
        if attributes:
            raise ValueError(f"the gateway does not know the load balancer attributes {attributes}")
        self._template, self._reality = template, reality
        self.ports, self.log, self.groups = {}, [], dict[str, TargetGroup]()
        self._servers: list[tuple[asyncio.Server, web.Server]] = []

    async def start(self) -> None:
        """Open all listeners."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True, ssl=False),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )
        self.groups = {
            logical_id: TargetGroup(properties, self._session, scale=self._reality.scale, chance=self._reality.chance)
            for logical_id, properties in self._template.target_groups.items()
        }
        loop = asyncio.get_running_loop()
        for logical_id, listener in self._template.listeners.items():
            server = web.Server(self._handler(listener, self._template.rules(logical_id)), access_log=None)
            opened = await loop.create_server(server, "127.0.0.1", 0, ssl=self._tls(listener))
            self.ports[listener.port] = opened.sockets[0].getsockname()[1]
            self._servers.append((opened, server))

    async def close(self) -> None:
        """Close all listeners and connections."""
        for opened, server in self._servers:
            opened.close()
            await server.shutdown(0.1)
        for group in self.groups.values():
            await group.close()
        await self._session.close()

    def _tls(self, listener: Listener) -> ssl.SSLContext | None:
        if listener.protocol == "HTTP":
            return None
        assert listener.certificates, "an HTTPS listener without a certificate"
        policy = re.fullmatch(r"ELBSecurityPolicy-(TLS13-1-\d)(-.+)?-\d{4}-\d{2}", listener.ssl_policy or "")
        if policy is None or policy[1] not in _TLS_VERSIONS:
            raise ValueError(f"the gateway does not know the TLS policy {listener.ssl_policy}")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = _TLS_VERSIONS[policy[1]]
        self._reality.certificate(context)
        return context

    def _handler(
        self, listener: Listener, rules: tuple[KnownRule, ...]
    ) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            host = request.headers.get("Host", "").rpartition(":")[0] or request.headers.get("Host", "")
            received = ReceivedRequest(method=request.method, host=host, target=request.raw_path)
            rule = rule_for(rules, received)
            answer, group = await self._act(listener, rule, received, request)
            self.log.append(
                Access(
                    method=received.method,
                    target=received.target,
                    priority=rule.priority,
                    status=answer.status,
                    target_group=group,
                )
            )
            return answer

        return handle

    async def _act(
        self, listener: Listener, rule: KnownRule, received: ReceivedRequest, request: web.BaseRequest
    ) -> tuple[web.StreamResponse, str | None]:
        for action in rule.actions:
            match action:
                case JwtValidation(jwt_validation_config=check):
                    assert listener.protocol == "HTTPS", "only HTTPS listeners check tokens"
                    keys = await self._keys(check.jwks_endpoint)
                    if not token_is_valid(request.headers.get("Authorization"), check, keys):
                        return _own_answer(401, "Authorization Required"), None
                case FixedResponse(fixed_response_config=fixed):
                    answer = web.Response(
                        status=fixed.status_code, text=fixed.message_body, content_type=fixed.content_type
                    )
                    return answer, None
                case Redirect(redirect_config=wanted):
                    location = redirected(wanted, received, protocol=listener.protocol, port=listener.port)
                    status = int(wanted.status_code.removeprefix("HTTP_"))
                    return web.Response(status=status, headers={"Location": location}), None
                case Forward():
                    group = chosen_by_weight(action.target_groups, self._reality.chance)
                    return await self._forward(group, rewritten(rule.rewrite, received), request), group
        raise AssertionError(f"rule {rule.priority} of {listener.port} does nothing")

    async def _keys(self, address: str) -> KeySetSerialization:
        async with self._session.get(self._reality.key_sets[address]) as answer:
            assert answer.status == 200, f"{address}: {answer.status}"
            keys: KeySetSerialization = await answer.json(content_type=None)
            return keys

    async def _forward(self, group_id: str | None, target_url: str, request: web.BaseRequest) -> web.StreamResponse:
        group = self.groups[group_id] if group_id else None
        target = group.choose() if group else None
        if group is None or target is None:
            return _own_answer(503, "Service Temporarily Unavailable")
        transport = request.transport
        target.requests.add(transport)
        try:
            scheme = group.properties.protocol.lower()
            address = URL(f"{scheme}://{target.host}:{target.port}{target_url}", encoded=True)
            return await self._exchange(address, request)
        finally:
            target.requests.discard(transport)

    async def _exchange(self, address: URL, request: web.BaseRequest) -> web.StreamResponse:
        idle = self.idle_timeout_seconds * self._reality.scale
        body = await request.content.read()
        try:
            async with asyncio.timeout(idle):
                upstream = await self._session.request(
                    request.method, address, headers=self._headers(request), data=body or None, allow_redirects=False
                )
        except TimeoutError:
            return _own_answer(504, "Gateway Time-out")
        except aiohttp.ClientError:
            return _own_answer(502, "Bad Gateway")
        async with upstream:
            response = web.StreamResponse(status=upstream.status, reason=upstream.reason)
            response.headers.extend(_end_to_end(upstream.headers))
            await response.prepare(request)
            try:
                while True:
                    async with asyncio.timeout(idle):
                        chunk = await upstream.content.readany()
                    if not chunk:
                        break
                    await response.write(chunk)
                await response.write_eof()
            except (TimeoutError, aiohttp.ClientError, ConnectionError):
                # The answer has begun: all that is left is to close both connections.
                upstream.close()
                if request.transport is not None:
                    request.transport.abort()
        return response

    def _headers(self, request: web.BaseRequest) -> dict[str, str]:
        headers = _end_to_end(request.headers)
        if self._drops_invalid_headers == "true":
            headers = {name: value for name, value in headers.items() if _VALID_HEADER_NAME.fullmatch(name)}
        return {**headers, "X-Forwarded-Proto": "https" if request.secure else "http"}


def _end_to_end(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}


def _own_answer(status: int, reason: str) -> web.Response:
    """Answer as a load balancer answers for itself: with a page, not with an OpenAI error."""
    page = f"<html><head><title>{status} {reason}</title></head><body><h1>{status} {reason}</h1></body></html>"
    return web.Response(status=status, text=page, content_type="text/html")
