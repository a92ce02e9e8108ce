from pathlib import Path

import pytest

from slipway.assembly.cdk_cli import cut, explain_failure
from slipway.rehearse.cdk_cli import CdkCli, CdkFailedError
from slipway.rehearse.folder import RunFolder
from tests.rehearse.fakes import FakeCdk

VARIABLES = {"PATH": "/usr/bin", "HOME": "/nowhere"}


@pytest.fixture
def fake(tmp_path: Path) -> FakeCdk:
    return FakeCdk(tmp_path / "bin")


@pytest.fixture
def cli(fake: FakeCdk, tmp_path: Path) -> CdkCli:
    return CdkCli(fake.program, tmp_path, tmp_path, RunFolder(tmp_path).log, lambda: None)


def test_a_deployment_asks_nothing_and_runs_stacks_side_by_side(cli: CdkCli, fake: FakeCdk, tmp_path: Path) -> None:
    fake.then("deploy")
    cli.deploy("deploy", VARIABLES, tmp_path / "assembly", tmp_path / "outputs.json")
    arguments = " ".join(fake.calls[0]["arguments"])
    assert arguments.startswith(f"deploy --app {tmp_path / 'assembly'} --all")
    assert "--require-approval never" in arguments
    assert "--concurrency 4" in arguments


@pytest.mark.parametrize("number", [0, 3])
def test_a_diff_counts_the_stacks_that_differ(cli: CdkCli, fake: FakeCdk, tmp_path: Path, number: int) -> None:
    fake.then("diff", output=f"Stack a\n\n✨  Number of stacks with differences: {number}\n")
    assert cli.diff("diff", VARIABLES, tmp_path) == number


def test_a_diff_that_does_not_say_is_an_error(cli: CdkCli, fake: FakeCdk, tmp_path: Path) -> None:
    fake.then("diff", output="Stack a")
    with pytest.raises(CdkFailedError, match="did not say"):
        cli.diff("diff", VARIABLES, tmp_path)


def test_a_failure_says_which_resource_failed(cli: CdkCli, fake: FakeCdk, tmp_path: Path) -> None:
    fake.then(
        "deploy",
        exit_code=1,
        output="""
net | 1/4 | 02:00:00 | CREATE_COMPLETE | AWS::EC2::VPC | Vpc
net | 1/4 | 02:00:01 | CREATE_FAILED   | AWS::EC2::Subnet | Subnet The CIDR '10.9.0.0/24' is invalid.
❌  net failed to deploy
‣ DeploymentError: Resource updates failed:
net/Subnet  (AWS::EC2::Subnet Subnet)
  The CIDR '10.9.0.0/24' is invalid.
""",
    )
    with pytest.raises(CdkFailedError) as failure:
        cli.deploy("deploy", VARIABLES, tmp_path, tmp_path / "outputs.json")
    message = str(failure.value)
    assert "`cdk deploy` ended with exit code 1" in message
    assert message.endswith(
        "net/Subnet (AWS::EC2::Subnet Subnet)\nThe CIDR '10.9.0.0/24' is invalid.".replace("  ", " ")
    )
    assert "CREATE_" not in message


def test_without_a_summary_the_lines_about_errors_are_shown() -> None:
    assert explain_failure("a\nsynth Error: no such region\nb") == "synth Error: no such region"


def test_without_a_telling_line_the_last_ones_are_shown() -> None:
    output = "\n".join(f"line {number}" for number in range(100))
    assert explain_failure(output).splitlines()[-1] == "line 99"
    assert len(explain_failure(output).splitlines()) < 20


def test_a_long_reason_is_cut_to_one_readable_line() -> None:
    assert cut("a\n   b") == "a b"
    assert len(cut("x" * 5000)) == 400
    assert cut("x" * 5000).endswith("…")
