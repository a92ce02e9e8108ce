"""One process of the template differ for all pairs: it needs a second to read its database."""

import subprocess
from collections.abc import Callable, Iterator

import pytest

from slipway.review.changes import differ


@pytest.fixture(scope="session")
def running_differ() -> Iterator[Callable[[str], str]]:
    """Ask a differ that goes on running; it answers each line with a line."""
    with subprocess.Popen(
        ("node", differ._PROGRAM, differ._NODE_MODULES), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        questions, answers = process.stdin, process.stdout

        def answer(question: str) -> str:
            questions.write(f"{question}\n")
            questions.flush()
            return answers.readline()

        yield answer
        questions.close()


@pytest.fixture(autouse=True)
def one_differ(running_differ: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons ask the running differ; test_differ.py starts one each time."""
    monkeypatch.setattr(differ, "_answer", running_differ)
