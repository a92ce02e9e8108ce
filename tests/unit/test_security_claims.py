"""docs/security.md says nothing that no test holds: its claims name tests, and its reasons cover what is accepted."""

import ast
import re

import pytest

from slipway.review.security.read import read
from tests.assembly import PROJECT, Assembly

TEXT = (PROJECT / "docs" / "security.md").read_text(encoding="utf-8")
PACKS = ("NIST.800.53.R5-", "HIPAA.Security-", "PCI.DSS.321-")


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading."""
    _, _, part = TEXT.partition(f"\n## {heading}\n")
    lines = part.partition("\n## ")[0].splitlines()
    table = [line for line in lines if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[1:]]


CLAIMS = rows("What holds")


def test_there_are_claims() -> None:
    assert len(CLAIMS) > 25


@pytest.mark.parametrize("row", CLAIMS, ids=[row[0][:40] for row in CLAIMS])
def test_each_claim_names_tests_that_exist(row: list[str]) -> None:
    claim, held_by = row
    named = re.findall(r"`(tests/[^`]+)`", held_by)

    assert named, claim
    for name in named:
        file, _, function = name.partition("::")
        tree = ast.parse((PROJECT / file).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert any(each.startswith("test_") for each in functions), name
        assert not function or function in functions, name


def accepted(assembly: Assembly) -> set[str]:
    """Return the rules of the compliance packs that an environment accepts, without pack and details."""
    rules = {entry.rule for entry in read(assembly.directory).acknowledgements}
    return {rule.removeprefix(pack).partition("[")[0] for pack in PACKS for rule in rules if rule.startswith(pack)}


REASONS = {
    rule
    for row in rows("What NIST, HIPAA and PCI DSS packs ask for and Slipway answers otherwise")
    for rule in re.findall(r"`(\w+)`", row[0])
}


def test_every_accepted_rule_is_explained(each_assembly: Assembly) -> None:
    assert accepted(each_assembly) <= REASONS


def test_no_explained_rule_is_one_that_slipway_keeps() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in sorted((PROJECT / "constructs" / "neuron_constructs").rglob("*.py"))
    )

    assert {rule for rule in REASONS if rule not in sources} == set()


def test_fewer_findings_are_accepted_than_before_this_page(default: Assembly) -> None:
    """98 when the review began."""
    assert len(read(default.directory).acknowledgements) < 98
