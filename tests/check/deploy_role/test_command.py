"""`slipway deploy-role` as a user runs it."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slipway.check.deploy_role.names import collisions
from slipway.check.deploy_role.run import SESSION_SECONDS
from slipway.cli import app
from tests.assembly import PROJECT, Assembly
from tests.remove.teardown.fakes import TEMPLATES, write_assembly

ACCOUNT = "111122223333"


def test_it_writes_the_documents_and_says_the_commands(default: Assembly, tmp_path: Path) -> None:
    (tmp_path / "execution-9.json").write_text("{}")
    arguments = ["--assembly", str(default.directory), "--account", ACCOUNT, "--output", str(tmp_path)]

    result = CliRunner().invoke(app, ["deploy-role", *arguments, "--github", "acme/ml"])

    assert result.exit_code == 0, result.output
    written = sorted(path.name for path in tmp_path.iterdir())
    assert {"deployer.json", "deployer-trust.json", "execution-1.json"} <= set(written)
    assert "execution-9.json" not in written
    assert "destroyer.json" not in written
    assert all(json.loads((tmp_path / name).read_text())["Version"] == "2012-10-17" for name in written)
    for name in written:
        if name.startswith("execution"):
            assert f"file://{tmp_path}/{name}" in result.output
            assert f"policy/deploy-slipway-default-{name.removesuffix('.json')}" in result.output
    assert f"npx cdk bootstrap aws://{ACCOUNT}/us-west-2 --cloudformation-execution-policies" in result.output


def test_the_role_gives_the_workflows_the_time_and_the_checks_that_they_ask_for(
    default: Assembly, tmp_path: Path
) -> None:
    arguments = ["--assembly", str(default.directory), "--account", ACCOUNT, "--output", str(tmp_path)]

    output = CliRunner().invoke(app, ["deploy-role", *arguments, "--github", "acme/ml"]).output

    for workflow in ("deploy", "destroy"):
        text = (PROJECT / ".github" / "workflows" / f"{workflow}.yaml").read_text()
        asked = {int(seconds) for seconds in re.findall(r"role-duration-seconds: (\d+)", text)}
        assert asked == {SESSION_SECONDS}
    assert f"--max-session-duration {SESSION_SECONDS} " in output
    assert f"slipway preflight --policy > {tmp_path}/preflight.json" in output
    assert f"--policy-name preflight --policy-document file://{tmp_path}/preflight.json" in output


@pytest.mark.parametrize(
    ("boundary", "said"),
    [
        (None, "Whoever may create roles can give themselves more"),
        ("slipway-tiny-network-boundary", "policy/slipway-tiny-network-boundary holds nothing"),
        ("team-boundary", None),
    ],
)
def test_what_the_policies_do_not_hold_is_said(tmp_path: Path, boundary: str | None, said: str | None) -> None:
    trust = {"Statement": [{"Principal": {"Service": "ec2.amazonaws.com"}}]}
    arn = {"PermissionsBoundary": f"arn:aws:iam::{ACCOUNT}:policy/{boundary}"} if boundary else {}
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": trust, **arn}}
    folder = write_assembly(tmp_path / "assembly", {"slipway-tiny-network": {"Role": role}})

    arguments = ["--assembly", str(folder), "--account", ACCOUNT, "--output", str(tmp_path / "out")]
    output = CliRunner().invoke(app, ["deploy-role", *arguments]).output

    assert "Attach " in output
    assert said in output if said else "holds nothing" not in output and "more:" not in output


def test_a_repository_may_be_named_with_the_ids_that_github_sends(default: Assembly, tmp_path: Path) -> None:
    arguments = ["--assembly", str(default.directory), "--account", ACCOUNT, "--output", str(tmp_path)]

    result = CliRunner().invoke(app, ["deploy-role", *arguments, "--github", "acme@123456/ml@456789"])
    half = CliRunner().invoke(app, ["deploy-role", *arguments, "--github", "acme@123456/ml"])

    assert result.exit_code == 0, result.output
    assert "repo:acme@123456/ml@456789:environment:default" in (tmp_path / "deployer-trust.json").read_text()
    assert half.exit_code == 2


def test_all_wrong_arguments_are_named_at_once() -> None:
    result = CliRunner().invoke(app, ["deploy-role", "--account", "12", "--github", "no slash"])

    assert result.exit_code == 2
    assert [word in result.output for word in ("say which environment", "--account 12", "OWNER/NAME")] == [True] * 3


def test_a_type_without_a_row_is_named(tmp_path: Path) -> None:
    templates = {**TEMPLATES}
    name = next(iter(templates))
    templates[name] = {"New": {"Type": "AWS::Made::Up", "Properties": {}}}
    folder = write_assembly(tmp_path / "assembly", templates)

    arguments = ["--assembly", str(folder), "--account", ACCOUNT, "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(app, ["deploy-role", *arguments])

    assert result.exit_code == 2
    assert "AWS::Made::Up" in result.output
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_no_assembly_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["deploy-role", "--assembly", str(tmp_path), "--account", ACCOUNT])

    assert result.exit_code == 2
    assert "is not a cloud assembly" in result.output


def test_the_commands_work_for_a_folder_with_a_space(default: Assembly, tmp_path: Path) -> None:
    folder = tmp_path / "out x;$(y)"
    arguments = ["--assembly", str(default.directory), "--account", ACCOUNT, "--output", str(folder)]

    output = CliRunner().invoke(app, ["deploy-role", *arguments, "--github", "acme/ml"]).output

    commands = [shlex.split(line) for line in output.splitlines() if line.startswith(("aws ", "slipway "))]
    documents = [word.removeprefix("file://") for words in commands for word in words if word.startswith("file://")]
    assert [*{Path(document).parent for document in documents}] == [folder]
    assert {Path(document).name for document in documents} == {path.name for path in folder.iterdir()} | {
        "preflight.json"
    }
    assert str(folder / "preflight.json") in next(words for words in commands if words[0] == "slipway")


def test_the_destroyers_policy_is_written_and_printed_on_request_only(default: Assembly, tmp_path: Path) -> None:
    arguments = ["--assembly", str(default.directory), "--account", ACCOUNT, "--output", str(tmp_path)]

    asked = CliRunner().invoke(app, ["deploy-role", *arguments, "--github", "acme/ml", "--destroyer"]).output
    assert (tmp_path / "destroyer.json").exists()
    again = CliRunner().invoke(app, ["deploy-role", *arguments, "--github", "acme/ml"]).output

    assert "--policy-name destroyer" in asked
    assert "destroyer.json" not in again
    assert not (tmp_path / "destroyer.json").exists()


def test_an_environment_with_a_bootstrap_of_its_own_gets_its_commands(directory: Assembly, tmp_path: Path) -> None:
    arguments = ["--assembly", str(directory.directory), "--account", ACCOUNT, "--output", str(tmp_path)]

    output = CliRunner().invoke(app, ["deploy-role", *arguments]).output

    command = (
        f"npx cdk bootstrap aws://{ACCOUNT}/us-east-2 --qualifier directory --toolkit-stack-name CDKToolkit-directory"
    )
    assert f"{command} --cloudformation-execution-policies" in output
    role = f"cdk-directory-deploy-role-{ACCOUNT}-us-east-2"
    assert f"put-role-policy --role-name {role} " in output
    assert "shares the account's default bootstrap" not in output
    assert (tmp_path / "deploy-role-limits.json").exists()
    templates = directory.templates().values()
    assert {t["Parameters"]["BootstrapVersion"]["Default"] for t in templates} == {"/cdk-bootstrap/directory/version"}


@pytest.mark.parametrize(
    ("one", "other", "collide"),
    [
        ("team", "team-a", False),
        ("small", "small-network", True),
        ("small-network", "small", True),
        ("small", "small-storage-east", True),
        ("a-name-of-sixteen", "a-name-of-sixteens", True),
        ("a-name-of-16-one", "a-name-of-16-two", False),
        ("team", "team", False),
    ],
)
def test_environments_collide_when_policies_cannot_tell_their_names_apart(one: str, other: str, collide: bool) -> None:
    assert bool(list(collisions(one, [other]))) == collide


def test_an_environment_that_collides_with_one_in_the_folder_gets_no_policies(tmp_path: Path) -> None:
    environment = {"slipway:environment": "small-network"}
    folder = write_assembly(tmp_path / "assembly", {"slipway-small-network-storage": {}}, tags=environment)

    arguments = ["--assembly", str(folder), "--account", ACCOUNT, "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(app, ["deploy-role", *arguments])

    assert result.exit_code == 2
    assert "begin like those of small (slipway-small-network-" in result.output
    assert "another `name`" in result.output
