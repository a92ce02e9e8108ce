"""`slipway plan`: its options, outputs and exit codes, on assemblies that are there already."""

import fcntl
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.review import review
from slipway.review.plan import Plan
from slipway.review.security.read import PACKS
from tests.assembly import Assembly


def run(*options: str | Path) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, options)])


@pytest.fixture(autouse=True)
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(review, "PLANS", tmp_path / "plans")
    return tmp_path / "plans"


def _scanned(default: Assembly, folder: Path, *violations: Any) -> Path:
    """Write the default environment as a synth that ran cdk-nag leaves it."""
    shutil.copytree(default.directory, folder)
    reports = [
        {"pluginName": "AwsSolutions", "violations": violations},
        *({"pluginName": pack, "violations": []} for pack in PACKS[1:]),
    ]
    (folder / "validation-report.json").write_text(json.dumps({"pluginReports": reports}))
    return folder


@pytest.fixture
def scanned(default: Assembly, tmp_path: Path) -> Path:
    """The default environment without a finding of cdk-nag."""
    return _scanned(default, tmp_path / "scanned")


@pytest.fixture
def refused(default: Assembly, tmp_path: Path) -> Path:
    """The default environment with a finding of cdk-nag."""
    place = {"constructPath": "slipway-default-storage/Data/Resource/Resource"}
    found = {"ruleName": "AwsSolutions-S1", "description": "Open.", "severity": "error", "violatingConstructs": [place]}
    return _scanned(default, tmp_path / "refused", found)


def test_an_assembly_against_itself_changes_nothing(default: Assembly) -> None:
    result = run("--assembly", default.directory, "--against", default.directory, "--json")

    assert result.exit_code == 0, result.output
    plan = Plan.model_validate_json(result.stdout)
    assert plan.environment == "default"
    assert plan.format_version == 1
    assert plan.comparison
    assert plan.comparison.changes.is_empty
    assert plan.comparison.cost == plan.cost
    assert plan.comparison.security.new == ()
    assert plan.comparison.deploy_time.seconds == 0
    assert plan.deploy_time.seconds > 0


def test_stacks_that_are_no_longer_there_are_said_to_stay(default: Assembly, tmp_path: Path) -> None:
    folder = tmp_path / "less"
    shutil.copytree(default.directory, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["artifacts"]["slipway-default-operations"]
    (folder / "manifest.json").write_text(json.dumps(manifest))

    result = run("--assembly", folder, "--against", default.directory, "--json")

    assert result.exit_code == 0, result.output
    (note,) = json.loads(result.stdout)["comparison"]["notes"]
    assert note.startswith("No deployment deletes slipway-default-operations: ")


def test_the_command_is_given_that_deploys_what_the_cdk_cli_would_skip(default: Assembly, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(default.directory, folder)
    file = folder / "slipway-default-network.template.json"
    template = json.loads(file.read_text())
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::EC2::Subnet":
            resource["Properties"]["CidrBlock"] = "10.9.0.0/20"
    file.write_text(json.dumps(template))

    result = run("--assembly", folder, "--against", default.directory, "--json")

    assert result.exit_code == 0, result.output
    (note,) = json.loads(result.stdout)["comparison"]["notes"]
    assert "the CDK CLI skips slipway-default-storage" in note
    assert "`npx cdk deploy --all --force --concurrency 4 --require-approval never -c environment=default`" in note


def test_another_content_of_a_function_takes_time(default: Assembly, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(default.directory, folder)
    file = folder / "slipway-default-training.template.json"
    file.write_text(re.sub(r'(?<="S3Key": ")[0-9a-f]{64}', lambda match: match[0][::-1], file.read_text()))

    result = run("--assembly", folder, "--against", default.directory, "--json")

    assert result.exit_code == 0, result.output
    comparison = json.loads(result.stdout)["comparison"]
    assert comparison["changes"]["resources"] == []
    assert comparison["changes"]["asset_changes"]
    assert comparison["deploy_time"]["seconds"] > 0


def test_every_output_is_written_in_one_run(default: Assembly, tmp_path: Path) -> None:
    files = [tmp_path / "new" / name for name in ("plan.md", "plan.json", "plan.html")]

    result = run("--assembly", default.directory, "--markdown", files[0], "--json-file", files[1], "--html", files[2])

    assert result.exit_code == 0, result.output
    assert files[0].read_text().startswith("<!-- slipway-plan:default -->\n")
    assert Plan.model_validate_json(files[1].read_text()).comparison is None
    assert "</html>" in files[2].read_text()
    assert "default" in result.stdout


def test_the_document_alone_is_printed_beside_files(default: Assembly, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"

    result = run("--assembly", default.directory, "--json", "--json-file", file)

    assert result.exit_code == 0, result.output
    assert Plan.model_validate_json(result.stdout) == Plan.model_validate_json(file.read_text())


def test_a_finding_of_the_scanners_is_planned_and_fails(refused: Path, scanned: Path) -> None:
    result = run("--assembly", refused, "--against", scanned, "--fail-on", "security", "--json")

    assert result.exit_code == 1
    plan = Plan.model_validate_json(result.stdout)
    assert plan.comparison
    assert [finding.rule for finding in plan.comparison.security.new] == ["AwsSolutions-S1"]
    lines = result.stderr.splitlines()
    assert lines[0].startswith("cdk synth fails: slipway-default-storage/Data")
    assert lines[1].startswith("security: slipway-default-storage/Data")


def test_a_condition_that_is_not_met_stops_nothing(scanned: Path) -> None:
    conditions = "replace,data-loss,broadening,security,cluster-update,cost=0"
    result = run("--assembly", scanned, "--against", scanned, "--fail-on", conditions)

    assert result.exit_code == 0, result.output


def test_scanners_that_did_not_run_found_nothing_and_cleared_nothing(default: Assembly) -> None:
    result = run("--assembly", default.directory, "--against", default.directory, "--fail-on", "security")

    assert result.exit_code == 1
    assert "security: cdk-nag AwsSolutions did not run on both sides" in result.stderr


def test_all_that_is_wrong_with_the_options_is_said_at_once(tmp_path: Path) -> None:
    missing = tmp_path / "missing"

    result = run("--base", "HEAD", "--against", missing, "--assembly", missing)

    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "--base needs -e NAME beside --assembly: which environment is synthesized at that revision",
        "--base and --against are two things to compare with: give one",
        f"--assembly {missing} is not a folder",
        f"--against {missing} is not a folder",
    ]


def test_an_empty_base_is_no_plan_without_a_comparison() -> None:
    """A variable of a CI system that is not set must not make a review that finds nothing."""
    result = run("-e", "default", "--base", "")

    assert result.exit_code == 2
    assert result.stderr.startswith("--base is empty")


def test_outputs_that_cannot_be_written_are_said_before_the_work(default: Assembly, tmp_path: Path) -> None:
    result = run("--assembly", default.directory, "--markdown", "-", "--json", "--html", tmp_path)

    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "the standard output is given for two outputs",
        f"{tmp_path} is a folder: give a file",
    ]


def test_an_output_below_a_file_is_said(default: Assembly, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    result = run("--assembly", default.directory, "--json-file", tmp_path / "file" / "plan.json")

    assert result.exit_code == 2
    assert f"{tmp_path / 'file' / 'plan.json'} cannot be written" in result.stderr
    assert "Traceback" not in result.output


def test_what_is_compared_with_is_not_overwritten(plans: Path) -> None:
    mine = plans / "default" / "head"
    mine.mkdir(parents=True)
    (mine / "manifest.json").write_text("{}")

    result = run("-e", "default", "--against", mine)

    assert result.exit_code == 2
    assert "is where this plan is written" in result.stderr
    assert (mine / "manifest.json").is_file()


def test_two_plans_of_one_environment_do_not_mix(default: Assembly, plans: Path) -> None:
    plans.mkdir()
    with (plans / "default.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = run("-e", "default", "--assembly", default.directory)

    assert result.exit_code == 2
    assert "another plan of default is being made" in result.stderr
    assert run("-e", "default", "--assembly", default.directory).exit_code == 0


def test_a_condition_about_a_change_needs_something_to_compare_with(default: Assembly) -> None:
    result = run("--assembly", default.directory, "--fail-on", "replace")

    assert result.exit_code == 2
    assert "give --base or --against" in result.stderr


def test_a_folder_that_is_no_assembly_is_said(tmp_path: Path) -> None:
    result = run("--assembly", tmp_path)

    assert result.exit_code == 2
    assert "is not a cloud assembly" in result.stderr
    assert "Traceback" not in result.output


def test_an_unknown_revision_is_said_before_anything_is_synthesized(plans: Path) -> None:
    result = run("-e", "default", "--base", "no-such-branch")

    assert result.exit_code == 2
    assert "unknown revision no-such-branch" in result.stderr
    assert not (plans / "default" / "head").exists()


@pytest.mark.usefixtures("heard_ctrl_c")
def test_ctrl_c_cleans_up(monkeypatch: pytest.MonkeyPatch) -> None:
    cleaned = []

    @contextmanager
    def synthesized(*_: Any) -> Iterator[Any]:
        try:
            yield interrupted
        finally:
            cleaned.append(True)

    def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    monkeypatch.setattr(review, "synthesized", synthesized)

    result = run("-e", "default")

    assert result.exit_code == 130
    assert "nothing was changed" in result.stderr
    assert cleaned == [True]
