"""Every command that reaches AWS for an environment refuses the credentials of another account than its file names."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.client
import pytest
import typer
from moto import mock_aws
from typer.testing import CliRunner, Result

from slipway.assembly import choice
from slipway.assembly.stacks import read_stacks
from slipway.cli import app
from slipway.config import load_environment
from slipway.review.cluster_update import run as cluster_update
from tests.assembly import PROJECT, synthesize

ACCOUNT = "111122223333"
"""The file's account; moto's is 123456789012."""

WITHOUT_AWS = {("plan",), ("deploy-role",), ("rehearse",), ("cost",), ("sbom",)}
"""Commands that take `-e` and never ask AWS."""

ARGUMENTS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("promote",): ("small-llama/v1", "--review"),
    ("job",): ("--", "status"),
    ("prove",): ("--ceiling", "50"),
}
"""What some commands need beside `-e`."""


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the commands that take `-e`."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        elif any(parameter.name == "environment" for parameter in command.params):
            yield (*path, name)


REACHING = [command for command in commands() if command not in WITHOUT_AWS]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment file that names an account."""
    path = tmp_path_factory.mktemp("account") / "small.yaml"
    text = (PROJECT / "environments" / "small.yaml").read_text(encoding="utf-8")
    path.write_text(f'account: "{ACCOUNT}"\n{text}', encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def assembly(file: Path) -> Path:
    """Its cloud assembly."""
    synthesize(load_environment(file), file.parent / "assembly")
    return file.parent / "assembly"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, assembly: Path, tmp_path: Path) -> Iterator[list[str]]:
    """What moto's account is asked; each command finds its assembly synthesized."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setattr(choice, "FOLDER", tmp_path / "plan")
    monkeypatch.setattr(cluster_update, "UPDATE_DIRECTORY", tmp_path / "cluster-update")
    for module in (choice, cluster_update):
        monkeypatch.setattr(module, "synthesize", lambda _, folder, *__, **___: shutil.copytree(assembly, folder))
    asked: list[str] = []
    any_client: Any = botocore.client.BaseClient
    call = any_client._make_api_call

    def recorded(client: Any, operation: str, arguments: Any) -> Any:
        asked.append(operation)
        return call(client, operation, arguments)

    monkeypatch.setattr(any_client, "_make_api_call", recorded)
    with mock_aws():
        yield asked


def run(command: tuple[str, ...], file: Path) -> Result:
    return CliRunner().invoke(app, [*command, "-e", str(file), *ARGUMENTS.get(command, ())])


@pytest.mark.parametrize("command", REACHING, ids=" ".join)
def test_another_accounts_credentials_are_refused_before_anything_else(
    command: tuple[str, ...], file: Path, calls: list[str]
) -> None:
    before = file.read_bytes()

    result = run(command, file)

    assert (result.exit_code, calls, file.read_bytes()) == (2, ["GetCallerIdentity"], before), result.output
    assert "credentials are of AWS account 123456789012" in result.stderr
    assert f'`account: "{ACCOUNT}"`. Use that account\'s (`export AWS_PROFILE=...`)' in result.stderr
    assert result.stderr.count("\n") == 1


def test_its_own_accounts_credentials_are_taken(file: Path, calls: list[str], tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(file.read_text("utf-8").replace(ACCOUNT, "123456789012"), "utf-8")

    result = run(("status",), own)

    assert result.exit_code == 1, result.output
    assert "is not deployed in account 123456789012" in result.output
    assert "DescribeStacks" in calls


def test_an_assembly_alone_says_whose_it_is(assembly: Path, calls: list[str]) -> None:
    result = CliRunner().invoke(app, ["pause", "--assembly", str(assembly)])

    assert (result.exit_code, calls) == (2, ["GetCallerIdentity"]), result.output


def test_resources_are_the_same_with_and_without_an_account(file: Path, assembly: Path, tmp_path: Path) -> None:
    open_file = tmp_path / "open.yaml"
    open_file.write_text(file.read_text("utf-8").partition("\n")[2], "utf-8")
    synthesize(load_environment(open_file), tmp_path / "open")

    with_account, without = read_stacks(assembly), read_stacks(tmp_path / "open")

    assert {stack.account for stack in with_account} == {ACCOUNT}
    assert {stack.account for stack in without} == {None}
    assert [stack.template["Resources"] for stack in with_account] == [stack.template["Resources"] for stack in without]
