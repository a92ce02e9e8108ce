"""What programs on hosts, nodes and in containers ask of AWS: the table, and the calls that our sources make."""

import ast
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from botocore import xform_name
from botocore.loaders import Loader

from tests.assembly import PROJECT
from tests.iam.account import Account

TABLE: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
PROGRAMS: Mapping[str, Any] = TABLE["programs"]

SOURCES = ("assets/**/*.sh", "assets/**/*.j2", "assets/**/*.py", "constructs/**/*.py", "stacks/**/*.py")
"""Files that may hold a program for a host, a node or a container."""

_SHELL_CALL = re.compile(
    r"\baws(?:_cli)?(?:\s+--(?:region|output)\s+\S+)*\s+(?P<service>[a-z][a-z0-9-]+)\s+(?P<operation>[a-z][a-z0-9-]+)"
)
_SHELL_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_COMMANDS = {"s3", "s3api"}
_CLIENTS = {"scaling": "application-autoscaling", "client": "s3"}
"""Services of clients that have another name in our sources."""

_PLACE = re.compile(r"\{([^}]+)\}")


# ---- calls in the sources -----------------------------------------------------------------------------------


def calls_in(file: Path) -> set[str]:
    """Return the calls in a file, as the AWS CLI writes them: `logs put-log-events`."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        tree = ast.parse(text)
        strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is str]
        return set(_boto3_calls(tree)) | {call for string in strings for call in _cli_calls(string)}
    return set(_cli_calls(text))


def _cli_calls(text: str) -> Iterator[str]:
    for found in _SHELL_CALL.finditer(_SHELL_COMMENT.sub("", text).replace("\\\n", " ")):
        service, operation = found.group("service", "operation")
        if service in _COMMANDS | set(_services()):
            yield f"{service} {operation}"


def _boto3_calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            service, method = _service_of(node.func.value), node.func.attr
            if method in ("get_paginator", "get_waiter") and service:
                method = ast.literal_eval(node.args[0])
            if method in _methods(service):
                yield f"{service} {method.replace('_', '-')}"


def _service_of(client: ast.expr) -> str:
    """Return the service of a client: `boto3.client("s3")`, `self.s3`, `eks`."""
    if isinstance(client, ast.Call) and ast.unparse(client.func).endswith("client") and client.args:
        return str(ast.literal_eval(client.args[0]))
    name = ast.unparse(client).rpartition(".")[2]
    return _CLIENTS.get(name, name)


@cache
def _services() -> Sequence[str]:
    return tuple(Loader().list_available_services("service-2"))


@cache
def _methods(service: str) -> frozenset[str]:
    if service not in _services():
        return frozenset()
    return frozenset(map(xform_name, Loader().load_service_model(service, "service-2")["operations"]))


# ---- the table ----------------------------------------------------------------------------------------------


def table_of(file: Path) -> tuple[set[str], set[str]]:
    """Return the calls and the printed commands that the table has for a file."""
    name = str(file.relative_to(PROJECT))
    own = [program for program in PROGRAMS.values() if any(fnmatchcase(name, at) for at in program.get("files", []))]
    return (
        {call for program in own for call in program["calls"]},
        {command for program in own for command in program.get("elsewhere", [])},
    )


Need = tuple[str, str, Mapping[str, str]]
"""Action, ARN and condition keys."""


def needs_of(role: str, account: Account) -> list[Need]:
    """Return what the programs with a role need in an account of one assembly."""
    found = [
        (action, need)
        for program in PROGRAMS.values()
        if role in program["roles"]
        for needs in [program.get("needs", {}), *program.get("calls", {}).values()]
        for action, need in needs.items()
    ]
    return [
        (action, resource, keys)
        for action, need in found
        if _has(need.get("with"), account)
        for keys in _keys(need.get("keys", {}), account)
        for resource in _filled(need.get("resource", "*"), account)
    ]


def _keys(keys: Mapping[str, str], account: Account) -> Iterator[Mapping[str, str]]:
    """Yield the condition keys; nothing if a value is of a resource that is not there."""
    with suppress(StopIteration):
        yield {key: next(_filled(value, account)) for key, value in keys.items()}


def _has(wanted: str | None, account: Account) -> bool:
    return wanted is None or any(_values(wanted, account))


def _filled(text: str, account: Account) -> Iterator[str]:
    """Replace the references in a text, and yield a text for each value; an empty iterator if a resource is missing."""
    found = _PLACE.search(text)
    if found is None:
        yield text
        return
    for value in dict.fromkeys(_values(found[1], account)):
        yield from _filled(text.replace(found[0], value), account)


def _values(reference: str, account: Account) -> Iterator[str]:
    (assembly,) = account.assemblies
    _, of, wanted = reference.rpartition("name of ")
    kind, _, word = wanted.partition(" ")
    if "::" in kind:
        made = [one for one in account.resources(kind) if word in one.logical_id]
        yield from (one.name if of else one.arn for one in made)
    elif reference == "region":
        yield assembly.environment.region
    elif reference == "cluster":
        yield from (one.resolved["ClusterName"] for one in account.resources("Custom::PclusterCluster"))
    elif reference == "SLIPWAY_SCRIPTS":
        for one in account.resources("AWS::EC2::LaunchTemplate"):
            script = b64decode(one.resolved["LaunchTemplateData"].get("UserData", "")).decode()
            yield from (f"arn:aws:s3:::{found}" for found in re.findall(r"SLIPWAY_SCRIPTS='s3://([^']+)'", script))
    elif reference == "hugging_face_token_secret_arn":
        kubernetes = assembly.environment.kubernetes
        yield from filter(None, [kubernetes and kubernetes.hugging_face_token_secret_arn])
    else:
        for one in account.resources("AWS::CodeBuild::Project"):
            location = str(one.resolved["Source"].get("Location", ""))
            yield f"arn:aws:s3:::{location.partition('/')[0] if reference.startswith('bucket') else location}"
