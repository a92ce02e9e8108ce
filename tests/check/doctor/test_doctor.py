"""`slipway doctor` names what is missing or too old on this machine, and how to install it."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner, Result

from slipway.check.doctor import run as running
from slipway.cli import app
from slipway.programs import programs
from tests.assembly import PROJECT

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """A machine with Python, and with what a test installs on its PATH or, with a slash, in its project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "node_modules" / "aws-cdk").mkdir(parents=True)
    monkeypatch.setattr(running, "PROJECT", project)
    monkeypatch.setattr("slipway.check.doctor.look._beside_python", shutil.which)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def add(name: str, says: str) -> None:
        file = (project if "/" in name else tmp_path / "bin") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\necho '{says}'\n", "utf-8")
        file.chmod(0o755)

    return add


@pytest.fixture
def whole(install: Install) -> Install:
    """A machine that has everything."""
    cdk = json.loads((PROJECT / "package.json").read_text("utf-8"))["devDependencies"]["aws-cdk"]
    # As the real programs say it (node 24, the CDK CLI, git, AWS CLI 2, its plugin, pcluster 3).
    install("node", "v24.19.0")
    install("node_modules/.bin/cdk", f"{cdk} (build fcf5e34)")
    install("git", "git version 2.43.0")
    install("aws", "aws-cli/2.31.13 Python/3.13.7 Linux/6.8.0 exe/x86_64.ubuntu.24")
    install("session-manager-plugin", "1.2.707.0")
    install(".tools/parallelcluster/bin/pcluster", '{"version": "3.16.1"}')
    return install


def doctor(*options: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *options])


def states(result: Result) -> dict[str, str]:
    return {row["name"]: row["state"] for row in json.loads(result.stdout)}


@pytest.mark.usefixtures("whole")
def test_a_whole_machine_is_exit_code_0() -> None:
    found = doctor()

    assert found.exit_code == 0, found.output
    assert "missing" not in found.stdout


@pytest.mark.usefixtures("install")
def test_an_empty_machine_gets_the_command_for_each_program() -> None:
    found = doctor()

    assert found.exit_code == 1
    for name, program in programs().items():
        if name not in ("python", "kubectl"):
            assert f"missing        {name}" in found.stdout
            assert program.installation in found.stdout


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("node", "v20.11.0"),
        ("node_modules/.bin/cdk", "2.100.0 (build abc)"),
        ("aws", "aws-cli/1.45.11 Python/3.11.7 Linux/6.8.0 botocore/1.43.11"),
        (".tools/parallelcluster/bin/pcluster", '{"version": "3.9.0"}'),
    ],
)
def test_an_old_program_is_too_old(whole: Install, name: str, says: str) -> None:
    whole(name, says)

    found = doctor("--json")

    assert found.exit_code == 1
    assert [other for other, state in states(found).items() if state != "ok"] == [name.rpartition("/")[2]]


def test_kubectl_is_wanted_by_an_environment_on_kubernetes_alone(whole: Install) -> None:
    assert "kubectl" not in states(doctor("-e", "small", "--json"))
    assert states(doctor("-e", "kubernetes", "--json"))["kubectl"] == "missing"
    whole("kubectl", '{"clientVersion": {"gitVersion": "v1.36.2-dispatcher"}}')
    assert states(doctor("-e", "kubernetes", "--json"))["kubectl"] == "ok"
    whole("kubectl", '{"clientVersion": {"gitVersion": "v1.32.4"}}')
    assert states(doctor("-e", "kubernetes", "--json"))["kubectl"] == "too old"


@pytest.mark.usefixtures("whole")
def test_without_credentials_the_bootstrap_is_not_looked_at() -> None:
    found = doctor("-e", "small")

    assert found.exit_code == 0
    assert "not looked at  CDK bootstrap of us-west-2: no AWS account: " in found.stdout


@pytest.fixture
def _account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield


@pytest.mark.usefixtures("whole", "_account")
def test_a_region_that_is_not_bootstrapped_gets_its_command() -> None:
    missing = doctor("-e", "small")
    boto3.client("ssm", region_name="us-west-2").put_parameter(
        Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String"
    )
    there = doctor("-e", "small")

    assert missing.exit_code == 1
    assert "npx cdk bootstrap aws://123456789012/us-west-2" in missing.stdout
    assert there.exit_code == 0
