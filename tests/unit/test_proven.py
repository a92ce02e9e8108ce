"""docs/proven.md names the versions that the project runs and the numbers that it has."""

import json
import re

import pytest
import yaml

from tests.assembly import ENVIRONMENTS, PROJECT, SHIPPED
from tests.unit.test_security_claims import CLAIMS

TEXT = (PROJECT / "docs" / "proven.md").read_text(encoding="utf-8")
TABLE = TEXT.partition("<!-- proven")[2].partition("<!-- /proven -->")[0]
ROWS = [line.strip("|").split(" | ") for line in TABLE.splitlines() if line.startswith("| ")][1:]


def pins() -> set[str]:
    """What the project pins, as `name version`."""
    lines = [line for file in PROJECT.glob("requirements*.txt") for line in file.read_text("utf-8").splitlines()]
    python = (re.match(r"([\w.-]+)(?:\[[^]]*\])?==([\w.+]+)", line) for line in lines)
    node = json.loads((PROJECT / "package.json").read_text("utf-8"))["devDependencies"]
    unpacked = yaml.safe_load((PROJECT / "tests" / "contracts" / "packages.yaml").read_text("utf-8"))
    return {
        *(f"{pin[1]} {pin[2]}" for pin in python if pin),
        *(f"{name} {version}" for name, version in node.items()),
        *(f"{package['name']} {package['version']}" for package in unpacked if "version" in package),
    }


@pytest.mark.parametrize("row", ROWS, ids=[row[0].strip()[:40] for row in ROWS])
def test_each_program_has_the_version_that_runs_here(row: list[str]) -> None:
    named = set(re.findall(r"`([^`]+ \d[^`]*)`", row[1]))

    assert named or "the distribution's" in row[1]
    assert named - pins() == set()


@pytest.mark.parametrize("row", ROWS, ids=[row[0].strip()[:40] for row in ROWS])
def test_each_proof_is_a_command_of_this_repository(row: list[str]) -> None:
    targets = re.findall(r"`make ([a-z-]+)`", row[2])

    assert targets
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{target}:" in makefile for target in targets)


def test_the_numbers_are_those_of_the_project() -> None:
    environments, shipped = re.findall(r"more than (\d+) environments, the (\d+) shipped", TEXT)[0]
    (claims,) = re.findall(r"More than (\d+) claims", TEXT)

    assert len(ENVIRONMENTS) > int(environments)
    assert len(SHIPPED) == int(shipped)
    assert len(CLAIMS) > int(claims)


def test_trainings_fail_as_often_as_the_page_of_faults_says() -> None:
    readme, faults = ((PROJECT / file).read_text(encoding="utf-8") for file in ("README.md", "docs/cluster-faults.md"))
    said = re.findall(r"trainings [a-z ]*fail (\d+) times", TEXT + readme)

    assert len(said) == 2
    assert all(f"| all | {times} |" in faults for times in said)
