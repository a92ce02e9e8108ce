"""The register of stand-ins is complete, and what it names is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.assembly import PROJECT
from tests.contracts.register import DOCUMENT, StandIn, document, made_programs, makers, read_register

REGISTER = read_register()


def test_every_file_that_imitates_something_is_registered() -> None:
    assert {file for file in makers() if file not in REGISTER.files and file not in REGISTER.own} == set()


def test_every_program_that_a_test_makes_is_registered() -> None:
    known = REGISTER.programs | set(REGISTER.own)

    assert {(name, file) for name, file in made_programs() if name not in known} == set()


def test_what_is_registered_is_there() -> None:
    made = {name for name, _ in made_programs()}

    assert [file for file in REGISTER.files if not (PROJECT / file).is_file()] == []
    assert [file for file in REGISTER.own if "/" in file and not (PROJECT / file).is_file()] == []
    assert [name for name in REGISTER.own if "/" not in name and name not in made] == []
    for row in REGISTER.stand_ins:
        text = "".join((PROJECT / file).read_text(encoding="utf-8") for file in row.files)
        assert [name for name in row.programs if name not in text] == [], row.of


def test_the_comparing_tests_are_there() -> None:
    for row in REGISTER.stand_ins:
        for test in row.compared_by:
            file, _, name = test.partition("::")
            tree = ast.parse((PROJECT / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def test_no_stand_in_is_there_twice() -> None:
    names = [row.of for row in REGISTER.stand_ins]

    assert len(set(names)) == len(names)


def test_the_page_is_made_from_the_register() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(REGISTER), "run: make schema"


@pytest.mark.parametrize(
    "change", [{"sources": ()}, {"sources": ("from memory",)}, {"sources": ("libfabric: util/info.c",)}, {"files": ()}]
)
def test_a_row_without_origin_version_or_file_is_refused(change: dict[str, tuple[str, ...]]) -> None:
    row = {"of": "fi_info", "files": ("a.py",), "sources": ("libfabric 2.1.0: util/info.c, line 278",)}
    StandIn.model_validate(row)

    with pytest.raises(ValidationError):
        StandIn.model_validate(row | change)


def test_a_new_program_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").mkdir()
    source = 'program = folder / "bin" / "sinfo"\nprogram.chmod(0o755)\nnode.stub("scancel")\n'
    (tmp_path / "tests" / "test_new.py").write_text(source)
    monkeypatch.setattr("tests.contracts.register.PROJECT", tmp_path)

    assert set(made_programs()) == {("sinfo", "tests/test_new.py"), ("scancel", "tests/test_new.py")}
    assert list(makers()) == ["tests/test_new.py"]
