"""Every operation of the services that stacks use is read from its request as boto3 was asked for it."""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, cast
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.config import Config
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

from slipway_emulator.permissions.calls import Call, UnknownCallError, read_call

REGION = "us-west-2"
KEY = "AKIAIOSFODNN7EXAMPLE"
SERVICES = {
    **{"application-autoscaling": 10, "autoscaling": 60, "budgets": 20, "cloudformation": 70, "cloudtrail": 40},
    **{"cloudwatch": 30, "codebuild": 50, "cognito-idp": 90, "dynamodb": 40, "ec2": 600, "ecr": 40, "ecs": 50},
    **{"efs": 25, "eks": 40, "elbv2": 40, "events": 50, "fsx": 40, "iam": 150, "kms": 45, "lambda": 60, "logs": 80},
    **{"rds": 150, "resourcegroupstaggingapi": 8, "route53": 60, "s3": 90, "secretsmanager": 20, "sns": 40},
    **{"ssm": 120, "stepfunctions": 30, "sts": 8, "wafv2": 45},
}
"""botocore's names, and how many operations each has at least."""


class SentError(Exception):
    """A request is complete; it goes nowhere."""


# botocore makes something else of them before it sends: the address of another Region, or an endpoint's.
CONSUMED = {"SourceRegion", "EndpointId"}
# Of directory buckets and object Lambdas, which sign with services of their own.
OTHER_SERVICES = {"ListDirectoryBuckets", "WriteGetObjectResponse"}


def sample(shape: Shape | None, name: str = "x", depth: int = 0) -> Any:
    """Make a value of a shape: what is required, and texts that name what they are."""
    match shape:
        case StructureShape():
            wanted = shape.required_members if depth else shape.members
            return {key: sample(shape.members[key], key, depth + 1) for key in wanted if _sent(shape, key)}
        case ListShape():
            return [sample(shape.member, name, depth + 1)]
        case MapShape():
            return {"key": sample(shape.value, name, depth + 1)}
        case StringShape():
            return shape.enum[0] if shape.enum else f"{name}-{'a' * shape.metadata.get('min', 1)}"
    return {"boolean": True, "blob": b"b", "timestamp": 0, "float": 1.0, "double": 1.0}.get(
        shape.type_name if shape else "", (shape.metadata.get("min") if shape else 0) or 1
    )


def _sent(shape: StructureShape, key: str) -> bool:
    """Whether a member is sent: all that is required, and of the others the texts."""
    member = shape.members[key]
    return key in shape.required_members or (
        isinstance(member, StringShape) and not member.enum and key not in CONSUMED
    )


def as_environ(request: AWSPreparedRequest) -> dict[str, Any]:
    """Give a request as WSGI does."""
    address, body = urlsplit(request.url), cast("Any", request.body or b"")
    content = body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else body.read()
    headers = {f"HTTP_{name.upper().replace('-', '_')}": _text(value) for name, value in request.headers.items()}
    return {
        **headers,
        "HTTP_HOST": address.netloc,
        "CONTENT_TYPE": headers.get("HTTP_CONTENT_TYPE", ""),
        "CONTENT_LENGTH": str(len(content)),
        "REQUEST_METHOD": request.method,
        "PATH_INFO": address.path,
        "QUERY_STRING": address.query,
        "wsgi.input": BytesIO(content),
    }


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@pytest.fixture
def sent() -> Callable[[str], tuple[Any, list[dict[str, Any]]]]:
    """Return a client of a service, and the list of what it sends; nothing leaves."""

    def client(service: str) -> tuple[Any, list[dict[str, Any]]]:
        requests: list[dict[str, Any]] = []

        def keep(request: AWSPreparedRequest, **_: Any) -> None:
            requests.append(as_environ(request))
            raise SentError

        made = boto3.Session(KEY, "secret", region_name=REGION).client(  # type: ignore[call-overload]
            service,
            endpoint_url="http://127.0.0.1:9",
            config=Config(parameter_validation=False, retries={"max_attempts": 0}, inject_host_prefix=False),
        )
        made.meta.events.register("before-send", keep)
        return made, requests

    return client


@pytest.mark.parametrize("service", SERVICES)
def test_every_operation_is_read_as_it_was_asked_for(service: str, sent: Callable[[str], Any]) -> None:
    client, requests = sent(service)
    wrong, model = [], client.meta.service_model
    for name in model.operation_names:
        operation = model.operation_model(name)
        unsigned = "none" in {operation.auth_type, *(operation.auth or [])}
        if operation.deprecated or unsigned or name in OTHER_SERVICES:
            continue
        parameters = sample(operation.input_shape) if operation.input_shape else {}
        requests.clear()
        with pytest.raises(SentError):
            client._make_api_call(name, parameters)  # methods have names of their own
        read = read_or_error(requests[0])
        if problem := difference(name, service, parameters, read):
            wrong.append(problem)
    assert len(model.operation_names) >= SERVICES[service]
    assert wrong == []


def read_or_error(environ: dict[str, Any]) -> Call | UnknownCallError | None:
    try:
        return read_call(environ)
    except UnknownCallError as error:
        return error


def difference(name: str, service: str, parameters: Mapping[str, Any], read: Call | UnknownCallError | None) -> str:
    """Say what of a call was read otherwise than it was sent; texts are compared."""
    if not isinstance(read, Call):
        return f"{name}: {read}"
    if (read.service, read.operation, read.access_key) != (service, name, KEY):
        return f"{name}: read as {read.service}:{read.operation}"
    texts = {key: value for key, value in parameters.items() if isinstance(value, str)}
    lost = {key: value for key, value in texts.items() if read.parameters.get(key) != value}
    return f"{name}: {lost} read as {read.parameters}"[:300] if lost else ""
