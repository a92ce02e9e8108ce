"""Broken environment files: each says in its `#!` lines, as LINE:COLUMN and text, exactly what must be found in it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.config.files import problems_of

PROJECT = Path(__file__).parents[2]
FILES = sorted((Path(__file__).parent / "broken").glob("*.yaml"))
EXPECTATION = re.compile(r"^#! (\d+):(\d+) (.+)$", re.MULTILINE)


def expected_in(file: Path) -> list[tuple[int, int, str]]:
    return [(int(line), int(column), text) for line, column, text in EXPECTATION.findall(file.read_text("utf-8"))]


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_exactly_the_expected_problems(file: Path) -> None:
    problems = problems_of(file)
    found = [
        (problem.line, problem.column, f"{problem.path}: {problem.message}" if problem.path else problem.message)
        for problem in problems
    ]
    assert found == expected_in(file)
    assert found
    assert all(problem.fix and problem.rule for problem in problems)


def test_there_are_many() -> None:
    assert len(FILES) >= 30


def test_app_prints_all_and_ends_with_1(tmp_path: Path) -> None:
    file = Path(__file__).parent / "broken" / "many_mistakes.yaml"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where set-up may have put Node
    app = subprocess.run(
        [sys.executable, PROJECT / "app.py"],
        cwd=PROJECT,
        env={
            **os.environ,
            "PATH": path,
            "CDK_CONTEXT_JSON": json.dumps({"environment": str(file)}),
            "CDK_OUTDIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert app.returncode == 1
    assert "Traceback" not in app.stderr
    assert app.stderr.splitlines() == [str(problem) for problem in problems_of(file)]
