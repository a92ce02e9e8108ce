"""The ceiling at synth: the app refuses what the plan says is too dear, with the place in the environment file."""

import json
from pathlib import Path

import pytest
from moto import mock_aws
from typer.testing import CliRunner

from slipway.assembly import choice
from slipway.assembly.stacks import read_stacks
from slipway.assembly.synthesis import VALIDATION_REPORT, SynthFailedError, synthesize
from slipway.cli import app
from slipway.remove.leftovers.environment import find_subject
from slipway.review.cost.estimate import estimate
from tests.assembly import Assembly, environment_path


def with_ceiling(directory: Path, *lines: str) -> Path:
    """The small environment with more lines in its `operations`, which is its last section."""
    file = directory / "capped.yaml"
    text = environment_path("small").read_text(encoding="utf-8").rstrip("\n")
    file.write_text("\n".join([text, *(f"  {line}" for line in lines), ""]), encoding="utf-8")
    return file


def refusal(file: Path) -> str:
    """What the app says when it refuses the file."""
    with pytest.raises(SynthFailedError):
        synthesize(str(file), file.parent / "assembly", file.parent / "app.log")
    return (file.parent / "app.log").read_text(encoding="utf-8")


def test_a_peak_above_the_ceiling_is_refused_with_the_plans_own_number(tmp_path: Path, small: Assembly) -> None:
    peak = estimate(read_stacks(small.directory)).peak_usd_per_hour
    file = with_ceiling(tmp_path, "max_usd_per_hour: 0.5")
    last = len(file.read_text(encoding="utf-8").splitlines())
    said = refusal(file)

    assert f"{file}:{last}:21: operations.max_usd_per_hour: at its peak the environment costs {peak:,.2f} USD" in said


def test_no_stack_is_deployed_by_itself_above_the_ceiling(tmp_path: Path) -> None:
    refusal(with_ceiling(tmp_path, "max_usd_per_hour: 0.5"))
    report = json.loads((tmp_path / "assembly" / VALIDATION_REPORT).read_text(encoding="utf-8"))
    [violations] = [each["violations"] for each in report["pluginReports"] if each["pluginName"] == "slipway-cost"]

    # The CDK CLI leaves out what names constructs of other stacks than those that it deploys.
    assert [] in [violation["violatingConstructs"] for violation in violations]


def test_what_is_acknowledged_is_synthesized(tmp_path: Path) -> None:
    file = with_ceiling(tmp_path, "max_usd_per_hour: 0.5", "acknowledged_usd_per_hour: 1000")
    synthesize(str(file), tmp_path / "assembly", tmp_path / "app.log")

    assert read_stacks(tmp_path / "assembly")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("destroy", "nothing of environment small is deployed"),
        ("pause", "nothing of environment small (account 123456789012, us-west-2) runs"),
    ],
)
def test_no_ceiling_keeps_anybody_from_ending_what_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    file = with_ceiling(tmp_path, "max_usd_per_hour: 0.5")
    monkeypatch.setattr(choice, "FOLDER", tmp_path)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        told = CliRunner().invoke(app, [command, "-e", str(file), "--yes"]).output

    assert "cost-ceiling" in (tmp_path / command / file.stem / "app.log").read_text(encoding="utf-8")
    assert said in told


def test_no_ceiling_hides_whose_leftovers_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = with_ceiling(tmp_path, "max_usd_per_hour: 0.5")
    monkeypatch.setattr(choice, "FOLDER", tmp_path)

    assert find_subject(str(file), None, None, None).environment == "small"


def test_what_does_not_synthesize_at_all_is_still_an_error(tmp_path: Path) -> None:
    with pytest.raises(SynthFailedError, match="nowhere"):
        synthesize("nowhere", tmp_path / "assembly", tmp_path / "app.log", despite_findings=True)
