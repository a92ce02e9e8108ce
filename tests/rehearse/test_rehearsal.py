"""The whole driver, with a CDK CLI and an emulator that do what the test says."""

import json
import re
from pathlib import Path

import pytest
from markupsafe import escape

from slipway.rehearse import phases, processes
from slipway.rehearse.folder import RunFolder
from slipway.rehearse.inventory import Inventory
from slipway.rehearse.isolation import ACCOUNT
from slipway.rehearse.report import Report
from slipway.rehearse.run import run
from tests.rehearse.fakes import (
    REGION,
    FakeCdk,
    NoRoles,
    assembly_files,
    fake_toolchain,
    processes_left_in,
    resource,
    subject,
)

CONTROL_CHARACTERS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
NETWORK, TRAINING = "slipway-default-network", "slipway-default-training"
STACKS = assembly_files({NETWORK: {"Vpc": {}}, TRAINING: {"Cluster": {"Nodes": 4}}})
CHANGED = assembly_files({NETWORK: {"Vpc": {}}, TRAINING: {"Cluster": {"Nodes": 5}}})
CREATED = [resource("create", NETWORK, "Vpc"), resource("create", TRAINING, "Cluster")]
DELETED = [resource("delete", TRAINING, "Cluster"), resource("delete", NETWORK, "Vpc")]
FRESH: Inventory = {"VPC": ("vpc-default",)}
BOOTSTRAPPED: Inventory = {**FRESH, "CloudFormation stack": ("CDKToolkit",)}


class Stage:
    """A rehearsal with everything faked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.cdk = FakeCdk(folder / "bin")
        self.toolchain = fake_toolchain(folder, self.cdk.program)
        self.inventories: list[Inventory] = []
        monkeypatch.setattr(processes, "POLL_SECONDS", 0.02)
        monkeypatch.setattr(phases, "take_inventory", lambda *_: self.inventories.pop(0))
        monkeypatch.setattr(phases, "DeployRoles", NoRoles)

    def run(self, *, as_json: bool = False) -> tuple[int, Report]:
        code = run(subject(), self.toolchain, self.folder / "out", as_json=as_json)
        text = (self.folder / "out" / "default" / "report.json").read_text(encoding="utf-8")
        return code, Report.model_validate_json(text)

    def plan_until_deploy(self) -> None:
        self.inventories += [FRESH]
        self.cdk.then("synth", assembly=STACKS)
        self.cdk.then("bootstrap", ledger=[resource("create", "CDKToolkit", "StagingBucket", "AWS::S3::Bucket")])

    def plan_success(self, after: Inventory = BOOTSTRAPPED) -> None:
        self.plan_until_deploy()
        self.cdk.then("deploy", ledger=CREATED, outputs={NETWORK: {"VpcId": "vpc-1"}})
        self.cdk.then("deploy")
        self.cdk.then("diff", output="Number of stacks with differences: 0")
        self.cdk.then("synth", assembly=CHANGED)
        self.cdk.then("diff", output="Number of stacks with differences: 1")
        self.cdk.then("deploy", ledger=[resource("update", TRAINING, "Cluster")])
        self.cdk.then("destroy", ledger=DELETED)
        self.inventories += [{**BOOTSTRAPPED, "VPC": ("vpc-1", "vpc-default")}, after]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_json_is_the_report_and_nothing_else(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.plan_success()

    code, report = stage.run(as_json=True)

    assert code == 0
    assert Report.model_validate_json(capsys.readouterr().out) == report


def outcomes(report: Report) -> dict[str, str]:
    return {phase.name: phase.outcome for phase in report.phases}


def test_a_rehearsal_that_passes(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.plan_success()
    code, report = stage.run()
    assert code == 0
    assert set(outcomes(report).values()) == {"passed"}
    assert report.verdict == (
        "rehearsal passed: 2 stacks, 2 resources created, 2 destroyed, nothing left but 1 documented leftover"
    )
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == report.verdict
    assert "created: 3 resources of 2 types in 3 stacks" in said
    assert not CONTROL_CHARACTERS.search(said)
    assert report.region == REGION
    assert report.inventory == {"CloudFormation stack": 1, "VPC": 1}
    assert next(stack for stack in report.stacks if stack.name == NETWORK).outputs == {"VpcId": "vpc-1"}


def test_text_and_page_have_what_the_terminal_leaves_out(
    stage: Stage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    stage.plan_success()
    _, report = stage.run()
    passed = [line for line in capsys.readouterr().out.splitlines() if not line.endswith("...")]
    assert len(passed) <= 25
    folder = RunFolder(stage.folder / "out" / "default")
    text, page = folder.text_report.read_text(encoding="utf-8"), folder.page.read_text(encoding="utf-8")
    assert text.splitlines()[-1] == report.verdict
    for limit in report.not_rehearsed.limits:
        assert str(escape(limit)) in page
        assert limit[:60] in text
    assert "vpc-1" in page
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)


def test_what_comes_from_the_ledger_is_text_on_the_page(stage: Stage) -> None:
    stage.plan_until_deploy()
    reason = "<script>alert(1)</script> [red]Subnet[/] arn:aws:secretsmanager:us-west-2:123456789012:secret:a"
    stage.cdk.then("deploy", exit_code=1, output="no", ledger=[resource("failed", NETWORK, "Subnet", reason=reason)])
    stage.cdk.then("destroy")
    stage.inventories += [BOOTSTRAPPED]
    stage.run()
    folder = RunFolder(stage.folder / "out" / "default")
    page = folder.page.read_text(encoding="utf-8")
    assert "<script>" not in page
    assert str(escape(reason)) in page
    assert ":secret:a" in folder.text_report.read_text(encoding="utf-8")


def test_synth_has_no_credentials_the_bootstrap_the_administrator_s_and_the_rest_the_deployer_s(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "real")
    stage.plan_success()
    stage.run()
    for call in stage.cdk.calls:
        seen = call["variables"]
        assert "AWS_PROFILE" not in seen
        assert "AWS_SESSION_TOKEN" not in seen
        assert seen["HOME"] == str(stage.folder / "out" / "default" / "home")
        command = call["arguments"][0]
        assert seen.get("AWS_ACCESS_KEY_ID") == {"synth": None, "bootstrap": "testing"}.get(command, "deployer")
        assert seen.get("AWS_ENDPOINT_URL") == (None if command == "synth" else "http://127.0.0.1:4")
    bootstrap = stage.cdk.calls[1]["arguments"]
    assert bootstrap[:2] == ["bootstrap", f"aws://{ACCOUNT}/{REGION}"]
    assert "--cloudformation-execution-policies" in bootstrap


DENIED = {
    **{"kind": "check", "principal": "arn:aws:iam::123456789012:user/deploy-slipway-default-deployer"},
    **{"operation": "s3:HeadBucket", "action": "s3:ListBucket", "resource": "arn:aws:s3:::a", "context": {}},
    **{"identity": [], "boundary": None, "resource_policy": None, "allowed": False, "why": "no policy allows it"},
}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (DENIED, "may not s3:ListBucket on arn:aws:s3:::a"),
        ({"kind": "unknown", "message": "no action is known for s3:Nothing"}, "no action is known for s3:Nothing"),
    ],
)
def test_a_call_that_is_denied_or_unknown_fails_the_run(
    stage: Stage, line: dict[str, object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(*_: object) -> Inventory:
        file = RunFolder(stage.folder / "out" / "default").permissions
        file.write_text(json.dumps(line) + "\n", encoding="utf-8")
        return stage.inventories.pop(0)

    monkeypatch.setattr(phases, "take_inventory", look)
    stage.plan_success()

    code, report = stage.run()

    assert code == 1
    assert report.verdict == "rehearsal failed: IAM: what each call was allowed"
    assert message in report.phases[-1].detail


def test_an_unexpected_leftover_fails_the_run(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.plan_success(after={**BOOTSTRAPPED, "NAT gateway": ("nat-1",)})
    code, report = stage.run()
    assert code == 1
    assert report.verdict == "rehearsal failed: inventory after, leftovers"
    assert [(left.kind, left.documented) for left in report.leftovers] == [
        ("NAT gateway", False),
        ("CloudFormation stack", True),
    ]
    assert "NAT gateway nat-1: nothing accounts for it" in capsys.readouterr().out


def test_a_failed_deployment_is_explained_and_still_destroyed(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.plan_until_deploy()
    stage.cdk.then(
        "deploy",
        exit_code=1,
        output=f"{NETWORK} | CREATE_FAILED | AWS::EC2::Subnet | Subnet: The CIDR is invalid",
        ledger=[
            resource("create", NETWORK, "Vpc"),
            resource("failed", NETWORK, "Subnet", "AWS::EC2::Subnet", reason="The CIDR is invalid"),
            resource("rollback", NETWORK, "Vpc"),
        ],
    )
    stage.cdk.then("destroy")
    stage.inventories += [BOOTSTRAPPED]
    code, report = stage.run()
    assert code == 1
    found = outcomes(report)
    assert found["deploy"] == "failed"
    assert found["update"] == found["diff"] == found["inventory"] == "skipped"
    assert found["destroy"] == found["leftovers"] == "passed"
    assert [(failure.logical_id, failure.reason) for failure in report.failures] == [("Subnet", "The CIDR is invalid")]
    said = capsys.readouterr().out.splitlines()
    end = said[said.index("") + 1 :]
    log = stage.folder / "out" / "default" / "logs" / "deploy.log"
    assert end[0] == f"failed first, in `cdk deploy --all`: {NETWORK}/Subnet (AWS::EC2::Subnet): The CIDR is invalid"
    assert end[1] == f"read: {log}"
    assert end[-1] == report.verdict
    page = (stage.folder / "out" / "default" / "report.html").read_text(encoding="utf-8")
    assert "The CIDR is invalid" in page.partition("<section")[0]


def test_a_second_deployment_that_touches_something_fails(stage: Stage) -> None:
    stage.plan_until_deploy()
    stage.cdk.then("deploy", ledger=CREATED)
    stage.cdk.then("deploy", ledger=[resource("update", NETWORK, "Vpc")])
    stage.cdk.then("destroy", ledger=DELETED)
    stage.inventories += [BOOTSTRAPPED]
    code, report = stage.run()
    assert code == 1
    failed = next(phase for phase in report.phases if phase.outcome == "failed")
    assert failed.name == "deploy-again"
    assert f"update {NETWORK}/Vpc" in failed.detail


def test_an_update_that_touches_another_stack_fails(stage: Stage) -> None:
    stage.plan_success()
    steps = json.loads((stage.folder / "bin" / "steps.json").read_text(encoding="utf-8"))
    steps[7]["ledger"].append(resource("replace", NETWORK, "Vpc"))
    (stage.folder / "bin" / "steps.json").write_text(json.dumps(steps), encoding="utf-8")
    stage.inventories.pop()
    stage.inventories.append(BOOTSTRAPPED)
    code, report = stage.run()
    assert code == 1
    assert report.verdict == "rehearsal failed: cdk deploy --all of the change"


def test_a_failed_synth_ends_the_run_before_anything_is_started(stage: Stage) -> None:
    stage.cdk.then("synth", exit_code=1, output="environments/default.yaml:3:1: region: no such region")
    code, report = stage.run()
    assert code == 1
    assert report.region is None
    found = outcomes(report)
    assert found.pop("synth") == "failed"
    assert set(found.values()) == {"skipped"}
    assert "no such region" in report.phases[0].detail


def test_an_emulator_that_does_not_start_is_explained(stage: Stage) -> None:
    stage.toolchain = fake_toolchain(
        stage.folder, stage.cdk.program, "raise SystemExit('Error: moto is not installed')"
    )
    stage.cdk.then("synth", assembly=STACKS)
    code, report = stage.run()
    assert code == 1
    failed = next(phase for phase in report.phases if phase.outcome == "failed")
    assert failed.name == "emulator"
    assert "moto is not installed" in failed.detail


def test_an_emulator_that_ends_on_the_way_is_noticed(stage: Stage) -> None:
    dies = "import pathlib, sys; pathlib.Path(sys.argv[2]).mkdir(); print('{\"port\": 4}'); import time; time.sleep(1)"
    stage.toolchain = fake_toolchain(stage.folder, stage.cdk.program, f"{dies}; sys.exit(9)")
    stage.inventories += [FRESH]
    stage.cdk.then("synth", assembly=STACKS)
    stage.cdk.then("bootstrap", hang=True)
    code, report = stage.run()
    assert code == 1
    assert outcomes(report)["bootstrap"] == "failed"
    assert outcomes(report)["destroy"] == "skipped"
    assert "the emulator ended with exit code 9" in next(p for p in report.phases if p.name == "bootstrap").detail


def test_everything_that_was_started_is_stopped(stage: Stage) -> None:
    stage.plan_success()
    stage.run()
    assert processes_left_in(stage.folder) == []
