"""An environment without a Slurm cluster is not ParallelCluster's to judge, and the report says so."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from slipway.review.judge import proceedings
from slipway.review.judge.proceedings import judge_environment
from slipway.review.judge.progress import Progress
from slipway.review.judge.report import print_report, write_report
from slipway.review.judge.verdict import Verdict


@pytest.fixture
def verdict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Verdict:
    """The verdict on an assembly with a network alone; ParallelCluster must not be asked."""
    stack = {"name": "slipway-test-network", "template": {"Resources": {"Vpc": {"Type": "AWS::EC2::VPC"}}}}
    monkeypatch.setattr(proceedings, "synthesize", lambda *_: None)
    monkeypatch.setattr(proceedings, "read_assembly", lambda _: {"stacks": [stack]})
    monkeypatch.setattr(proceedings, "run_in_parallelcluster", lambda *_: pytest.fail("ParallelCluster was asked"))
    return judge_environment("test", [], tmp_path / "test", Progress(Console(quiet=True)))


def test_it_passes_without_being_judged(verdict: Verdict) -> None:
    assert (verdict.passed, verdict.answer, verdict.problem) == (True, None, None)


def test_the_report_says_why_there_is_no_judgement(verdict: Verdict, tmp_path: Path) -> None:
    output = io.StringIO()
    print_report([verdict], [], Console(file=output, width=200))
    assert "no Slurm cluster" in output.getvalue()
    write_report([verdict], [], tmp_path / "report.json")
    (environment,) = json.loads((tmp_path / "report.json").read_text("utf-8"))["environments"]
    assert (environment["name"], environment["passed"]) == ("test", True)
