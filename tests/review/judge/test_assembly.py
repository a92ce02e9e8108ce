"""The judge reads what the CDK CLI would deploy."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from slipway.assembly.synthesis import SynthFailedError, start_synthesis, synthesize
from slipway.review.judge import parallelcluster_process
from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.parallelcluster_process import JudgeFailedError
from slipway.review.judge.proceedings import ask_parallelcluster
from tests.assembly import Assembly


def test_reads_stacks_and_the_files_of_their_assets(default: Assembly) -> None:
    read = read_assembly(default.directory)
    stacks = {stack["name"]: stack for stack in read["stacks"]}
    training = stacks["slipway-default-training"]
    assert training["region"] == "us-west-2"
    assert training["tags"] == {"slipway:environment": "default"}
    assert training["template"] == default.template("training")
    assert any("head_node.sh" in paths for paths in read["uploads"].values())


def test_says_what_the_app_said_when_it_fails(tmp_path: Path) -> None:
    with pytest.raises(SynthFailedError, match=r"app\.log\n.*nowhere\.yaml"):
        synthesize("nowhere", tmp_path / "assembly", tmp_path / "app.log")


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("ERROR a bucket is public\nTraceback (most recent call last):\n  ...", "ERROR a bucket is public"),
        ("Traceback (most recent call last):\n  ...\nNameError: no such name", "NameError: no such name"),
    ],
)
def test_leaves_the_traceback_of_a_failed_app_in_its_log(output: str, message: str, tmp_path: Path) -> None:
    crash = f"printf '%s' {shlex.quote(output)} >&2; exit 1"
    (tmp_path / "cdk.json").write_text(json.dumps({"app": crash, "context": {}}), "utf-8")
    log = tmp_path / "app.log"
    with pytest.raises(SynthFailedError) as failure:
        start_synthesis("default", tmp_path / "assembly", log, project=tmp_path).wait()
    assert str(failure.value).endswith(f"{log}\n{message}")
    assert "Traceback" in log.read_text("utf-8")


def test_a_broken_other_side_is_named_with_its_log(
    default: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This interpreter has no aws-parallelcluster.
    monkeypatch.setattr(parallelcluster_process, "PARALLELCLUSTER_PYTHON", Path(sys.executable))
    with pytest.raises(JudgeFailedError, match=str(tmp_path / "parallelcluster.log")):
        ask_parallelcluster(read_assembly(default.directory), tmp_path)
    assert "pcluster" in (tmp_path / "parallelcluster.log").read_text("utf-8")


def test_a_missing_other_side_says_how_to_install_it(
    default: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallelcluster_process, "PARALLELCLUSTER_PYTHON", tmp_path / "nothing")
    with pytest.raises(JudgeFailedError, match="`make setup` installs it"):
        ask_parallelcluster(read_assembly(default.directory), tmp_path)
