"""The judge says what it does: on standard error, in lines where nothing moves."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.review.judge import proceedings
from slipway.review.judge.inside_parallelcluster.answer import Answer, Outcome
from slipway.review.judge.progress import Progress

ASSEMBLY = {
    "stacks": [{"name": "training", "template": {"Resources": {"Cluster": {"Type": CLUSTER_TYPE}}}}],
    "documents": {"key": {"images/a.yaml": "", "images/b.yaml": ""}},
}


@pytest.fixture(autouse=True)
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CI", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(proceedings, "synthesize", lambda *_: None)
    monkeypatch.setattr(proceedings, "read_assembly", lambda _: ASSEMBLY)
    monkeypatch.setattr(proceedings, "ask_parallelcluster", lambda *_: Answer("3.16.1", [], Outcome([])))


def shown(folder: Path, *, terminal: bool) -> str:
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=120)
    proceedings.judge_environments(["small"], (), folder, Progress(console))
    return output.getvalue()


def test_each_step_says_what_runs_and_how_long_it_took(tmp_path: Path) -> None:
    lines = shown(tmp_path, terminal=False).splitlines()

    assert [re.sub(r"[0-9.]+ s$", "N s", line) for line in lines] == [
        "small: cdk synth ...",
        "small: cdk synth, N s",
        "small: aws-parallelcluster: the cluster, 2 node images ...",
        "small: aws-parallelcluster: the cluster, 2 node images, N s",
    ]


def test_lines_move_on_a_terminal_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in shown(tmp_path, terminal=True)
    assert "\x1b[" not in shown(tmp_path, terminal=False)
    monkeypatch.setenv("CI", "true")
    assert "..." in shown(tmp_path, terminal=True)


def test_a_step_that_fails_has_its_line_too(tmp_path: Path) -> None:
    output = io.StringIO()
    with pytest.raises(OSError, match="full"), Progress(Console(file=output)).step("small", "cdk synth"):
        raise OSError("the disk is full")
    assert re.search(r"small: cdk synth, [0-9.]+ s", output.getvalue())
