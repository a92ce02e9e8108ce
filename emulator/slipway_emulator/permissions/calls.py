"""A signed HTTP request, read as a call of an AWS API.

The parsers are moto's, which cover every protocol; which operation it is, botocore's models say.
"""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote

from botocore.loaders import Loader
from moto.core.model import OperationModel, ServiceModel
from moto.core.parse import PROTOCOL_PARSERS, RequestDict
from moto.core.utils import get_service_model
from werkzeug.datastructures import EnvironHeaders, MultiDict

Environ = dict[str, Any]
"""A request as WSGI gives it."""

_CREDENTIAL = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/")
_PLACE = re.compile(r"\{([^}+]+)(\+?)\}")
_LOADER = Loader()
_TAGS = frozenset({"Tags", "tags", "TagList", "TagSpecifications"})

_OTHER_NAMES = {
    "monitoring": "cloudwatch",
    "elasticloadbalancing": "elbv2",
    "elasticfilesystem": "efs",
    "es": "opensearch",
    "states": "stepfunctions",
    "tagging": "resourcegroupstaggingapi",
}
"""botocore's name of a service where signatures have another (botocore 1.44.5, `signingName` in its models)."""


class UnknownCallError(Exception):
    """A signed request does not match an operation of its service; the message says which request."""


@dataclass(frozen=True)
class Call:
    """A call of an AWS API.

    Attributes:
        access_key: whose signature it has.
        region: the Region of the signature.
        service: botocore's name, such as `elbv2`.
        operation: such as `CreateRole`.
        parameters: what was sent, as the model names it.
        stack_tags: of the stack for which CloudFormation calls.
    """

    access_key: str
    region: str
    service: str
    operation: str
    parameters: Mapping[str, Any]
    stack_tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def protocol(self) -> str:
        """The service's protocol, such as `rest-json`."""
        return _model(self.service).protocol

    @property
    def takes_tags(self) -> bool:
        """Whether the operation has a parameter for tags."""
        shape = _model(self.service).operation_model(self.operation).input_shape
        return shape is not None and not _TAGS.isdisjoint(shape.members)


@dataclass(frozen=True)
class _Route:
    """How a request of one operation looks."""

    method: str
    path: re.Pattern[str]
    query: Mapping[str, str]
    headers: tuple[str, ...]
    operation: OperationModel


def read_call(environ: Environ) -> Call | None:
    """Read a request; None for one without a signature. Its body stays to be read.

    Raises:
        UnknownCallError: it is signed, and its service or operation is unknown.
    """
    headers = EnvironHeaders(environ)
    query: MultiDict[str, str] = MultiDict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
    signed = _CREDENTIAL.search(headers.get("Authorization", "")) or _CREDENTIAL.search(
        f"Credential={query.get('X-Amz-Credential', '')}"
    )
    if signed is None:
        return None
    access_key, region, signing_name = signed.groups()
    service = _OTHER_NAMES.get(signing_name, signing_name)
    if service not in _services():
        raise UnknownCallError(f"unknown service {signing_name}")
    operation, parameters = _parsed(service, environ, headers, query)
    sent = {name: value for name, value in parameters.items() if value is not None}
    return Call(access_key, region, service, operation, sent)


def _parsed(
    service: str, environ: Environ, headers: EnvironHeaders, query: MultiDict[str, str]
) -> tuple[str, Mapping[str, Any]]:
    model, body, path = _model(service), _body(environ), unquote(environ["PATH_INFO"])
    protocol, values = model.protocol, query
    parts: dict[str, str] = {}
    if protocol in ("query", "ec2"):
        values = MultiDict([*query.items(multi=True), *parse_qsl(body.decode(), keep_blank_values=True)])
        operation = _named(model, values.get("Action", ""))
    elif target := headers.get("X-Amz-Target"):
        operation, protocol = _named(model, target.rpartition(".")[2]), "json"
    else:
        path = _with_bucket(environ, path) if service == "s3" else path
        operation, parts = _routed(service, environ["REQUEST_METHOD"], path, query, headers)
    request: RequestDict = {
        "method": environ["REQUEST_METHOD"],
        "values": values,
        "headers": headers,
        "body": b"" if operation.has_streaming_input else body,
        "url_path": path,
        "url_params": parts,
    }
    return operation.name, PROTOCOL_PARSERS[protocol](operation).parse(request)


def _body(environ: Environ) -> bytes:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    environ["wsgi.input"] = io.BytesIO(body) if length else environ["wsgi.input"]
    return body


def _named(model: ServiceModel, name: str) -> OperationModel:
    if name not in model.operation_names:
        raise UnknownCallError(f"{model.service_name} has no operation {name or '(none)'}")
    operation: OperationModel = model.operation_model(name)
    return operation


def _with_bucket(environ: Environ, path: str) -> str:
    """Return the path of a request to S3 with the bucket in front, where the host names it."""
    host = environ.get("HTTP_HOST", "").partition(":")[0]
    if host.replace(".", "").isdigit() or host == "localhost":
        return path
    return f"/{host.partition('.s3')[0] if '.s3' in host else host.partition('.')[0]}{path}"


def _routed(
    service: str, method: str, path: str, query: MultiDict[str, str], headers: EnvironHeaders
) -> tuple[OperationModel, dict[str, str]]:
    for route in _routes(service):
        found = route.path.fullmatch(path) if route.method == method else None
        if found is None or any(name not in headers for name in route.headers):
            continue
        if any(name not in query or (value and query[name] != value) for name, value in route.query.items()):
            continue
        names = {_group(name): name for name, _ in _PLACE.findall(route.operation.http["requestUri"])}
        return route.operation, {names[key]: unquote(value) for key, value in found.groupdict().items()}
    raise UnknownCallError(f"{service} has no operation behind {method} {path}")


@cache
def _routes(service: str) -> list[_Route]:
    """Return the routes of a service, the most particular first, and of equal ones what is not deprecated."""
    model = _model(service)
    found = [_route(model.operation_model(name)) for name in model.operation_names]
    return sorted(
        found,
        key=lambda route: (-len(route.query) - len(route.headers), route.path.groups, route.operation.deprecated),
    )


def _route(operation: OperationModel) -> _Route:
    path, _, query = operation.http["requestUri"].partition("?")
    position, pattern = 0, ""
    for place in _PLACE.finditer(path):
        pattern += re.escape(path[position : place.start()])
        pattern += f"(?P<{_group(place[1])}>{'.+' if place[2] else '[^/]+'})"
        position = place.end()
    pattern += re.escape(path[position:].rstrip("/"))
    required = dict(parse_qsl(query, keep_blank_values=True)) | dict.fromkeys(_places(operation, "querystring"), "")
    return _Route(
        operation.http["method"], re.compile(f"{pattern}/?"), required, tuple(_places(operation, "header")), operation
    )


def _places(operation: OperationModel, location: str) -> Iterator[str]:
    """Yield the names of the required members that are sent at a place."""
    if operation.input_shape is None:
        return
    for name in operation.input_shape.required_members:
        member = operation.input_shape.members[name].serialization
        if member.get("location") == location:
            yield member["name"]


def _group(name: str) -> str:
    return re.sub(r"\W", "_", name)


@cache
def _model(service: str) -> ServiceModel:
    return get_service_model(service)


@cache
def _services() -> frozenset[str]:
    return frozenset(_LOADER.list_available_services("service-2"))
