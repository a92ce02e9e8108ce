"""`slipway docs`, and the messages that name it: no message names a file that an installed package lacks."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from slipway.cli import app
from slipway.documentation import FOLDER, pages, text_of
from tests.assembly import PROJECT

SOURCES = ("slipway", "stacks", "constructs", "assets", "emulator")
A_FILE = re.compile(r"(?<![\w/.:-])docs/[a-z-]+\.md")
A_COMMAND = re.compile(r"slipway docs ([a-z-]+(?:#[a-z0-9-]+)?)")
NO_MESSAGE = {"source", "name"}
"""Keys of data that say where a fact comes from: a reader of Slipway's sources looks there."""


def files(kind: str) -> list[Path]:
    return [file for folder in SOURCES for file in sorted((PROJECT / folder).rglob(kind)) if file.is_file()]


def docstrings(tree: ast.AST) -> set[int]:
    """The ids of the nodes that are docstrings, of modules and of what is no command: these print theirs as help."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = set()
    for node in ast.walk(tree):
        is_command = isinstance(node, ast.FunctionDef) and any(
            "reports_errors" in ast.dump(d) for d in node.decorator_list
        )
        for number, each in enumerate(getattr(node, "body", None) or [] if isinstance(node, (*owners, ast.If)) else []):
            is_first = number == 0 and isinstance(node, owners) and not is_command
            # A text behind an assignment describes it.
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and (is_first or number):
                found.add(id(each.value))
    return found


def texts(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text("utf-8"))
    unprinted = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in unprinted:
            yield node.value


def values(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for each in content:
            yield from values(each)
    elif isinstance(content, dict):
        for key, each in content.items():
            yield from values(each if key not in NO_MESSAGE else None)


def said() -> Iterator[tuple[str, str]]:
    """Yield each text that a person may see, with its file: strings of Python, data, scripts without comments."""
    for file in files("*.py"):
        yield from ((str(file), text) for text in texts(file))
    for file in sorted((PROJECT / "slipway").rglob("*.yaml")):
        yield from ((str(file), text) for text in values(yaml.safe_load(file.read_text("utf-8"))))
    for file in files("*.sh"):
        yield str(file), "\n".join(re.sub(r"^\s*#.*", "", line) for line in file.read_text("utf-8").splitlines())


def test_no_message_names_a_file_of_the_checkout() -> None:
    assert {(file, found) for file, text in said() for found in A_FILE.findall(text)} == set()


def test_every_page_and_section_that_something_names_exists() -> None:
    sources = [file for kind in ("*.py", "*.yaml", "*.sh", "*.j2") for file in files(kind)]
    named = {name for file in sources for name in A_COMMAND.findall(file.read_text("utf-8"))}

    assert len(named) > 10
    for name in named:
        assert text_of(name)


@pytest.mark.parametrize("page", pages())
def test_each_page_is_printed_as_it_is(page: str) -> None:
    printed = CliRunner().invoke(app, ["docs", page])

    assert printed.exit_code == 0
    assert printed.stdout.strip() == (FOLDER / f"{page}.md").read_text("utf-8").strip()


def test_without_a_name_the_index_is_printed() -> None:
    assert CliRunner().invoke(app, ["docs"]).stdout == CliRunner().invoke(app, ["docs", "README"]).stdout


def test_a_section_ends_where_the_next_of_its_level_begins() -> None:
    printed = CliRunner().invoke(app, ["docs", "troubleshooting#deployment"]).stdout

    assert printed.startswith("## Deployment\n")
    assert "### A stack without a change set" in printed
    assert len(re.findall("^## ", printed, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-such", "unknown page 'no-such'; there are: README, architecture"),
        ("../README", "unknown page '../README'"),
        ("budget#no-such", "page budget has no section 'no-such'; it has: "),
    ],
)
def test_an_unknown_page_or_section_is_refused_with_those_that_exist(name: str, message: str) -> None:
    refused = CliRunner().invoke(app, ["docs", name])

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert message in refused.stderr
