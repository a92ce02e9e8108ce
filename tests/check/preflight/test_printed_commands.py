"""The AWS CLI's lines that the preflight prints, against the service models that the CLI reads."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import slipway.check.preflight
from tests import aws_command

MODULES = sorted(Path(slipway.check.preflight.__file__).parent.rglob("*.py"))
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
    words = [found["service"], found["name"], *found["options"].split()]
    assert not list(aws_command.problems(words, whole=not in_a_sentence))
