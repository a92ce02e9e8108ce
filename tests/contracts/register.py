"""The register of stand-ins: what tests and tools imitate of other projects, and where its behaviour is from.

`python -m tests.contracts.register` writes docs/stand-ins.md from stand_ins.yaml (`make schema` does).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from tests.assembly import PROJECT

FILE = Path(__file__).with_name("stand_ins.yaml")
DOCUMENT = PROJECT / "docs" / "stand-ins.md"
SEARCHED = ("tests", "slipway/rehearse", "slipway/review/judge")

Source = Annotated[str, StringConstraints(pattern=r"^[^:]+ \S*\d\S*: .+")]
"""Project and version or commit, or what was recorded and the day, then the place: `util-linux 2.38.1: blkid(8)`."""


class StandIn(BaseModel):
    """What exists for somebody else's program, and how far it is known to behave like it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    of: str
    """The program, service or file layout that it replaces."""

    programs: tuple[str, ...] = ()
    """Names under which tests put it on the PATH."""

    files: tuple[str, ...] = Field(min_length=1)
    """Where it is."""

    sources: tuple[Source, ...] = ()
    """What its behaviour was taken from."""

    guess: str | None = None
    """What of it has no source."""

    compared_by: tuple[str, ...] = ()
    """Tests that compare it with the real thing, as pytest names them."""

    @model_validator(mode="after")
    def _has_an_origin(self) -> StandIn:
        if not self.sources and self.guess is None:
            raise ValueError(f"{self.of}: neither a source nor a guess")
        return self


class Register(BaseModel):
    """All stand-ins, and what looks like one and is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    stand_ins: tuple[StandIn, ...]
    own: Mapping[str, str]
    """Files that make a program or serve a port and imitate nothing of somebody else's, each with what it is for."""

    @property
    def files(self) -> set[str]:
        """Every file that a row names."""
        return {file for stand_in in self.stand_ins for file in stand_in.files}

    @property
    def programs(self) -> set[str]:
        """Every program that a row names."""
        return {program for stand_in in self.stand_ins for program in stand_in.programs}


def read_register() -> Register:
    """Read stand_ins.yaml."""
    return Register.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))


_SIGNS = re.compile(
    r"\.chmod\(0o7\d\d\)"  # a program
    r"|HTTPServer\(|TCPSite\(|create_server\(|ThreadedMotoServer\("  # a service
    r"|^class \w*(Fake|StandIn)\w*",
    re.MULTILINE,
)


def makers() -> Iterator[str]:
    """Find the files that make a program, serve a port, or call a class of theirs a fake or a stand-in."""
    for folder in SEARCHED:
        for file in _files(folder):
            if _SIGNS.search(file.read_text(encoding="utf-8")):
                yield str(file.relative_to(PROJECT))


def made_programs() -> Iterator[tuple[str, str]]:
    """Find the names of programs that tests make, each with its file, where the name is written as a constant."""
    for file in _files("tests"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for name in {*_stubs(tree), *_executables(tree)}:
            yield name, str(file.relative_to(PROJECT))


def _files(folder: str) -> list[Path]:
    """The Python files below a folder, without the tests that compare."""
    contracts = PROJECT / "tests" / "contracts"
    return sorted(file for file in (PROJECT / folder).rglob("*.py") if file.parent != contracts)


def _stubs(tree: ast.Module) -> Iterator[str]:
    """First arguments of `stub`, `stub_first` and `tool`, and names beside the constant that holds their script."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="stub" | "stub_first" | "tool"), args=[ast.Constant(str(name)), *_]):
                yield name
            case ast.Assign(targets=[ast.Name(id="STUBS")], value=ast.Dict(keys=keys)):
                yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _executables(tree: ast.Module) -> Iterator[str]:
    """Last names of the paths that `chmod(0o7..)` is called on."""
    paths = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=path, attr="chmod"), args=[ast.Constant(int(mode))]) if mode & 0o100:
                match paths.get(path.id) if isinstance(path, ast.Name) else path:
                    case ast.BinOp(op=ast.Div(), right=ast.Constant(str(name))):
                        yield name.rsplit("/", 1)[-1]


def document(register: Register) -> str:
    """Return docs/stand-ins.md."""
    rows = register.stand_ins
    without = sum(not row.sources for row in rows)
    partly = sum(bool(row.sources) and row.guess is not None for row in rows)
    counts = (
        f"{len(rows)} stand-ins: {len(rows) - partly - without} with a source for all that they do, {partly} with a"
        f" source and a guess, {without} without a source. Tests compare {sum(bool(row.compared_by) for row in rows)}"
        " with the real thing."
    )
    guesses = "".join(f"| {row.of} | {row.guess} |\n" for row in rows if row.guess is not None)
    table = "".join(
        f"| {row.of} | {'<br>'.join(row.sources) or 'none'} | {'yes' if row.compared_by else 'no'} |\n" for row in rows
    )
    return _TEXT.format(counts=counts, guesses=guesses, table=table)


_TEXT = """\
# Stand-ins

Slipway's tests run without AWS and without Neuron hardware. Where they need a program or a service of another project,
a stand-in plays it. This page lists every stand-in, the source of its behaviour, and what is a guess.

{counts}

`make test-contracts` unpacks packages of PyPI and Debian into `.tools/contracts`, in the versions of
`tests/contracts/packages.yaml`, and compares the stand-ins with them: file layouts, options, messages, exit codes.
`make test-kubernetes` builds Kubernetes' own code and compares two stand-ins with it.
Raise a version there, and the tests show what changed. To add a stand-in, add a row to `tests/contracts/stand_ins.yaml`
and run `make schema`, which writes this page; a test fails for every stand-in without a row.

## What is a guess

Look here first when something behaves differently on AWS.

| stand-in for | the guess |
|---|---|
{guesses}
## All stand-ins

| stand-in for | source | compared with the real one |
|---|---|---|
{table}"""


if __name__ == "__main__":
    DOCUMENT.write_text(document(read_register()), encoding="utf-8")
