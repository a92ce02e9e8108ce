"""`slipway plan --drift`: what it asks, what every rendering says, and what stops a pipeline."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from slipway.assembly.stacks import ENVIRONMENT_TAG, read_stacks
from slipway.cli import app
from slipway.review import review
from slipway.review.drift import detect
from slipway.review.drift.model import Drift
from slipway.review.report.architecture import read_architecture
from slipway.review.report.drift import ADVICE, TITLE
from slipway.review.report.headline import look_first
from slipway.review.report.page import page
from tests.assembly import Assembly
from tests.check.preflight.aws import Refusal
from tests.review.drift.account import NOW, Changed, Stacks, stack_id
from tests.review.report.plans import PLAN

GONE = Changed("slipway-default-storage", "Lustre", "AWS::FSx::FileSystem", {"StorageCapacity": 1200}, None)
SLOWER = Changed("slipway-default-storage", "F", "AWS::Lambda::Function", {"Timeout": 60}, {"Timeout": 61})


@pytest.fixture(autouse=True)
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "PLANS", tmp_path / "plans")


def run(*options: str | Path) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, options)])


def deployed(monkeypatch: pytest.MonkeyPatch, stacks: Stacks, listing: Any = None) -> None:
    """Make an account with the default environment's storage stack and a stack of somebody else."""
    aws = stacks.aws()

    def stack(name: str, environment: str) -> dict[str, Any]:
        tags = [{"Key": ENVIRONMENT_TAG, "Value": environment}]
        status = {"StackStatus": "UPDATE_COMPLETE", "CreationTime": NOW}
        return {"StackName": name, "StackId": stack_id(name), "Tags": tags, **status}

    rows = [stack("slipway-default-storage", "default"), stack("slipway-other-storage", "other")]
    aws.replies["cloudformation.DescribeStacks"] = listing or {"Stacks": rows}
    monkeypatch.setattr(detect, "open_account", lambda *_: aws.account())


def test_it_compares_the_stacks_of_the_environment_alone(default: Assembly, monkeypatch: pytest.MonkeyPatch) -> None:
    deployed(monkeypatch, Stacks([GONE, SLOWER]))

    done = run("-e", "default", "--assembly", default.directory, "--drift", "--json")

    assert done.exit_code == 0, done.output
    drift = json.loads(done.stdout)["drift"]
    assert drift["stacks"] == ["slipway-default-storage"]
    assert [one["logical_id"] for one in drift["resources"]] == ["Lustre", "F"]
    assert "CloudFormation compares the stacks" in done.stderr


def test_without_the_option_nobody_is_asked(default: Assembly, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "open_account", None)

    done = run("-e", "default", "--assembly", default.directory, "--json")

    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["drift"] is None


@pytest.mark.parametrize(
    ("stacks", "code", "said"),
    [
        (
            Stacks([GONE]),
            1,
            f"drift: {GONE.stack}/Lustre (AWS::FSx::FileSystem): was deleted; Its data is gone",
        ),
        (Stacks(failed=["slipway-default-storage"]), 1, "drift: slipway-default-storage: Failed to read Bucket"),
        (Stacks(), 0, ""),
    ],
)
def test_a_pipeline_stops_at_drift_and_at_what_is_not_known(
    default: Assembly, monkeypatch: pytest.MonkeyPatch, stacks: Stacks, code: int, said: str
) -> None:
    deployed(monkeypatch, stacks)

    done = run("-e", "default", "--assembly", default.directory, "--drift", "--fail-on", "drift")

    assert done.exit_code == code, done.output
    assert said in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--assembly", ".", "--drift"), "--drift needs -e NAME"),
        (("-e", "default", "--fail-on", "drift"), "--fail-on drift needs --drift"),
    ],
)
def test_what_makes_no_sense_is_refused(options: tuple[str, ...], said: str) -> None:
    done = run(*options)

    assert done.exit_code == 2
    assert said in done.stderr


def test_an_account_that_does_not_answer_is_no_plan(default: Assembly, monkeypatch: pytest.MonkeyPatch) -> None:
    deployed(monkeypatch, Stacks(), Refusal("AccessDenied", "not authorized"))

    done = run("-e", "default", "--assembly", default.directory, "--drift")

    assert done.exit_code == 2
    assert "these credentials may not call DescribeStacks" in done.stderr


def read(*changed: Changed, **answers: Any) -> Drift:
    account = Stacks(changed, **answers).aws().account()
    return detect.read_drift(account, [stack_id("slipway-default-storage")], lambda _: None)


def test_the_page_has_a_section(default: Assembly) -> None:
    architecture = read_architecture(read_stacks(default.directory))
    drift = read(GONE, SLOWER, failed=["slipway-default-storage"])

    with_drift = page(PLAN.model_copy(update={"drift": drift}), architecture, None)
    without = page(PLAN, architecture, None)

    assert '<a href="#drift">Drift</a>' in with_drift
    assert f'<h2 id="drift-title">{TITLE}</h2>' in with_drift
    assert ADVICE in with_drift
    assert "Its data is gone." in with_drift
    assert "Not compared: slipway-default-storage: Failed to read Bucket" in with_drift
    assert "drift" not in without
    assert "Nothing was deployed or asked of AWS" in without


def test_a_reviewer_sees_it_first() -> None:
    (first, section), *_ = look_first(PLAN.model_copy(update={"drift": read(GONE)}))

    assert first.startswith(f"{TITLE}: slipway-default-storage/Lustre")
    assert section == "drift"


def test_an_environment_that_is_not_deployed_has_no_drift(default: Assembly, monkeypatch: pytest.MonkeyPatch) -> None:
    deployed(monkeypatch, Stacks(), {"Stacks": []})

    done = run("-e", "default", "--assembly", default.directory, "--drift")

    assert done.exit_code == 0, done.output
    assert "The environment is not deployed." in done.stdout
