"""The command's exit code and files, with the judging itself replaced."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.review.judge import run as command
from slipway.review.judge.explanations import Explanation
from slipway.review.judge.inside_parallelcluster.answer import Answer, Finding, Level, Outcome
from slipway.review.judge.verdict import Verdict

EXPLANATION = Explanation("KeyPairValidator", "key pair", "people come through Session Manager")
WARNING = Finding(Level.WARNING, "KeyPairValidator", "no key pair")
ERROR = Finding(Level.ERROR, "EfaValidator", "no EFA")


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, list[Finding]]:
    """Environments and the findings that the test wants in them; the report goes to a temporary folder."""
    findings: dict[str, list[Finding]] = {}

    def judge(names: Sequence[str], explanations: Sequence[Explanation], *_: object) -> list[Verdict]:
        return [
            Verdict(name, explanations, Answer("3.16.1", [], Outcome(findings[name], template_resources=1)))
            for name in names
        ]

    monkeypatch.setattr(command, "judge_environments", judge)
    monkeypatch.setattr(command, "environment_names", lambda: sorted(findings))
    monkeypatch.setattr(command, "load_explanations", lambda: (EXPLANATION,))
    monkeypatch.setattr(command, "DIRECTORY", tmp_path)
    return findings


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["judge", *arguments])


def test_passes_when_all_is_explained(judged: dict[str, list[Finding]], tmp_path: Path) -> None:
    judged.update(default=[WARNING], small=[])
    assert run().exit_code == 0
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["passed"] is True


def test_prints_its_report_alone_as_json(judged: dict[str, list[Finding]], tmp_path: Path) -> None:
    judged.update(default=[], small=[ERROR])
    result = run("--json")
    assert result.exit_code == 1
    assert result.stdout == (tmp_path / "report.json").read_text("utf-8")
    assert [one["passed"] for one in json.loads(result.stdout)["environments"]] == [True, False]


def test_fails_on_an_error(judged: dict[str, list[Finding]]) -> None:
    judged.update(default=[WARNING], small=[ERROR])
    result = run()
    assert result.exit_code == 1
    assert "small: ERROR EfaValidator: no EFA" in result.output


def test_fails_on_a_stale_explanation_only_when_all_environments_ran(judged: dict[str, list[Finding]]) -> None:
    judged.update(default=[], small=[])
    assert run().exit_code == 1
    assert run("default").exit_code == 0


def test_judges_only_what_was_named(judged: dict[str, list[Finding]]) -> None:
    judged.update(default=[WARNING], small=[ERROR])
    assert run("default").exit_code == 0


def test_names_the_environments_when_one_is_unknown(judged: dict[str, list[Finding]]) -> None:
    judged.update(default=[], small=[])
    result = run("defalt")
    assert result.exit_code == 2
    assert result.stderr == "no environment 'defalt'; there are: default, small\n"
