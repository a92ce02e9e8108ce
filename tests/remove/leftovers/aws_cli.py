"""The AWS CLI's lines as boto3 calls, by the service models that both read: the CLI itself is not needed.

`aws ec2 delete-volume --volume-id vol-1` is `ec2.delete_volume(VolumeId="vol-1")`. What is not in a model (an
operation, a parameter, a value of another type, a waiter) is an error, as it is for the CLI.
"""

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import boto3
import botocore.session
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.validate import validate_parameters

_MODELS = botocore.session.get_session()
_SERVICES = {"s3api": "s3"}
"""Where the CLI's name of a service is another than boto3's."""


@dataclass(frozen=True)
class AwsCall:
    """A call that a line makes.

    Attributes:
        operation: name of the method, or of the waiter, in boto3.
        parameters: its parameters.
        waits: whether it is a waiter.
    """

    service: str
    operation: str
    parameters: dict[str, Any]
    region: str
    waits: bool = False

    def make(self) -> Any:
        """Make it."""
        client = boto3.client(self.service, region_name=self.region)  # type: ignore[call-overload]
        if self.waits:
            return client.get_waiter(self.operation).wait(**self.parameters)
        return getattr(client, self.operation)(**self.parameters)


@dataclass(frozen=True)
class EmptyBucket:
    """`aws s3 rm s3://bucket --recursive`, which is the CLI's own."""

    bucket: str
    region: str

    def make(self) -> Any:
        """Delete the objects."""
        return boto3.resource("s3", region_name=self.region).Bucket(self.bucket).objects.delete()


def parse(line: str) -> AwsCall | EmptyBucket:
    """Read a line.

    Raises:
        AssertionError: the CLI would refuse it.
        ParamValidationError: the service would refuse its parameters.
    """
    aws, command, *words = shlex.split(line)
    assert aws == "aws"
    assert words[-2] == "--region"
    region, words = words[-1], words[:-2]
    if command == "s3":
        verb, address, recursive = words
        assert (verb, recursive) == ("rm", "--recursive")
        assert address.startswith("s3://")
        return EmptyBucket(address.removeprefix("s3://"), region)
    service = _SERVICES.get(command, command)
    waits = words[0] == "wait"
    name, *options = words[1:] if waits else words
    operation = _waited_for(service, name) if waits else _operation(service, name)
    shape: Any = _MODELS.get_service_model(service).operation_model(operation).input_shape
    parameters = _parameters(shape, options)
    validate_parameters(parameters, shape)
    return AwsCall(service, name.replace("-", "_") if waits else xform_name(operation), parameters, region, waits)


def run(lines: Iterable[str]) -> None:
    """Run lines one after the other, as a shell does; an interface that went with its load balancer is gone already."""
    for line in lines:
        try:
            parse(line).make()
        except ClientError as error:
            if error.response["Error"]["Code"] != "InvalidNetworkInterfaceID.NotFound":
                raise


def _operation(service: str, name: str) -> str:
    names = {xform_name(operation, "-"): operation for operation in _MODELS.get_service_model(service).operation_names}
    assert name in names, f"{service} has no operation {name}"
    return str(names[name])


def _waited_for(service: str, name: str) -> str:
    waiters = _MODELS.get_waiter_model(service)
    names = {xform_name(waiter, "-"): waiter for waiter in waiters.waiter_names}
    assert name in names, f"{service} has no waiter {name}"
    return str(waiters.get_waiter(names[name]).operation)


def _parameters(shape: Any, options: list[str]) -> dict[str, Any]:
    members = {xform_name(member, "-"): member for member in shape.members}
    parameters: dict[str, Any] = {}
    while options:
        option = options.pop(0).removeprefix("--")
        if option.startswith("no-"):
            parameters[members[option.removeprefix("no-")]] = False
            continue
        assert option in members, f"{shape.name} has no --{option}"
        member = shape.members[members[option]]
        if member.type_name == "boolean":
            parameters[members[option]] = True
            continue
        values = []
        while options and not options[0].startswith("--"):
            values.append(options.pop(0))
        assert values, f"--{option} has no value"
        parameters[members[option]] = _value(member, values)
    return parameters


def _value(shape: Any, words: list[str]) -> Any:
    if shape.type_name == "list":
        return [_value(shape.member, [word]) for word in words]
    (word,) = words
    if shape.type_name == "structure":
        if word.startswith("{"):
            return json.loads(word)
        return dict(pair.split("=", 1) for pair in word.split(","))
    return int(word) if shape.type_name in ("integer", "long") else word
