"""What set-up installs is locked: versions and hashes agree with the pins, and the commands need no more than that."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from tests.assembly import PROJECT

LOCKED = (
    "requirements",
    "requirements-uv",
    "requirements-dev",
    "requirements-node",
    "requirements-checkov",
    "requirements-docs",
    "requirements-parallelcluster",
)
ENTRY = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[a-z,-]+\])?==(\S+)(.*(?:\n[ #].*)*)", re.MULTILINE)
DIRECT = re.compile(r"(?:via| #  ) -r requirements[a-z-]*\.txt$", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")

# They run elsewhere: the emulator and the SBOM with the tests' packages, the judge's other half with ParallelCluster's.
NOT_OF_THE_RUNTIME = ("slipway/rehearse/", "slipway/review/judge/inside_parallelcluster/", "slipway/review/sbom/")

each_set = pytest.mark.parametrize("name", LOCKED)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(name: str) -> dict[str, str]:
    """The versions that a requirements file pins, with those of the files that it includes."""
    text = (PROJECT / f"{name}.txt").read_text(encoding="utf-8")
    included = {k: v for other in re.findall(r"^-r (\S+)\.txt$", text, re.MULTILINE) for k, v in pins(other).items()}
    return included | {canonical(found[1]): found[2].rstrip(";") for found in ENTRY.finditer(text)}


def lock(name: str) -> str:
    return (PROJECT / "locks" / f"{name}.txt").read_text(encoding="utf-8")


def locked(text: str) -> dict[str, str]:
    return {canonical(found[1]): found[2] for found in ENTRY.finditer(text)}


def directly_locked(text: str) -> dict[str, str]:
    """The versions of the packages that a requirements file names, as the lock's comments say."""
    return {canonical(found[1]): found[2] for found in ENTRY.finditer(text) if DIRECT.search(found[3])}


@each_set
def test_a_lock_is_of_the_pins(name: str) -> None:
    """Fails when a pin is changed, added or removed without `make locks`."""
    assert directly_locked(lock(name)) == pins(name)


@each_set
def test_every_locked_package_has_its_hashes_and_no_host(name: str) -> None:
    text = lock(name)

    assert [found[1] for found in ENTRY.finditer(text) if not HASH.search(found[3])] == []
    assert len(ENTRY.findall(text)) == sum("==" in line and line[0] not in " #" for line in text.splitlines())
    assert "://" not in text
    assert re.findall(r"^-", text, re.MULTILINE) == []


def test_developers_have_the_runtime_as_it_is_locked() -> None:
    runtime, developer = locked(lock("requirements")), locked(lock("requirements-dev"))

    assert runtime.items() <= developer.items()


def test_the_wheel_needs_what_the_requirements_name() -> None:
    """As `pip install slipway` has it: the same versions as a checkout, and what the emulator needs as an extra."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = pins("requirements-dev") | pins("requirements-node")
    extras = project["optional-dependencies"]

    def named(entries: list[str]) -> dict[str, str]:
        return {canonical(found[1]): found[2] for found in ENTRY.finditer("\n".join(entries))}

    runtime = pins("requirements") | pins("requirements-uv")
    assert named(project["dependencies"]) == {k: v for k, v in runtime.items() if k != "hatchling"}
    for entries in extras.values():
        assert named(entries).items() <= {canonical(name): version for name, version in pinned.items()}.items()


def imports(file: Path) -> Iterator[str]:
    """The top-level packages that a file imports anywhere, also within its functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0]


def test_what_deploys_and_destroys_imports_the_runtime_alone() -> None:
    runtime = locked(lock("requirements"))
    of = metadata.packages_distributions()
    ours = {"slipway_emulator", "slipway", "slipway_pause", "slipway_stacks", "neuron_constructs"}
    foreign: dict[str, str] = {}
    files = [
        PROJECT / "app.py",
        *(file for folder in ("slipway", "stacks", "constructs") for file in (PROJECT / folder).rglob("*.py")),
    ]
    for file in files:
        path = file.relative_to(PROJECT).as_posix()
        if not path.startswith(NOT_OF_THE_RUNTIME):
            for name in set(imports(file)) - ours - sys.stdlib_module_names:
                if not any(canonical(distribution) in runtime for distribution in of.get(name, [])):
                    foreign[path] = name

    assert len(files) > 300
    assert foreign == {}
