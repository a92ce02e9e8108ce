"""The AWS CLI's lines that the preflight prints, against the service models that the CLI reads."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import botocore.session
import pytest
from botocore import xform_name

import slipway.preflight

MODULES = sorted(Path(slipway.preflight.__file__).parent.rglob("*.py"))
MODELS = botocore.session.get_session()
OF_THE_CLI_ITSELF = {"s3", "sso"}
FOR_EVERY_COMMAND = {"region", "query", "output"}
COMMAND = re.compile(r"(?P<before>.*?)\baws (?P<service>[a-z0-9-]+) (?P<name>[a-z-]+)(?P<options>.*)")


def text(node: ast.AST) -> str | None:
    """A string as the program has it; what it fills in is X."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(text(part) or "X" for part in node.values)
    return None


def commands(module: Path) -> Iterator[re.Match[str]]:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) not in parts:
            yield from filter(None, map(COMMAND.match, (text(node) or "").splitlines()))


FOUND = [found for module in MODULES for found in commands(module)]


def test_there_are_some() -> None:
    assert len(FOUND) > 10


@pytest.mark.parametrize("found", FOUND, ids=lambda found: f"{found['service']} {found['name']}")
def test_a_command_stands_alone_on_its_line_and_the_cli_knows_it(found: re.Match[str]) -> None:
    in_a_sentence = found["before"].endswith("`")
    assert in_a_sentence or not found["before"].strip()
    if found["service"] in OF_THE_CLI_ITSELF:
        return
    model = MODELS.get_service_model(found["service"])
    names = {xform_name(name, "-"): name for name in model.operation_names}
    assert found["name"] in names
    shape = model.operation_model(names[found["name"]]).input_shape
    assert shape is not None
    options = set(re.findall(r"(?<![\w-])--([a-z-]+)", found["options"]))
    assert options - FOR_EVERY_COMMAND <= {xform_name(member, "-") for member in shape.members}
    assert in_a_sentence or {xform_name(member, "-") for member in shape.required_members} <= options
