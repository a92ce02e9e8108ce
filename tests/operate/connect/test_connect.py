"""`slipway connect` and `slipway job` run what the stacks have as outputs."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.errors import RefusedError
from slipway.operate.job.run import on_head_node
from tests.assembly import Assembly
from tests.operate.connect.conftest import HEAD_NODE


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_without_a_place_it_is_the_head_node_or_the_shell_of_the_named_cluster() -> None:
    assert run("connect", "-e", "small", "--print").stdout == f"{HEAD_NODE}\n"
    shell = run("connect", "-e", "kubernetes", "--print").stdout
    # The context that `aws eks update-kubeconfig` writes: kubectl would take the cluster that was used last.
    context = "arn:aws:eks:us-west-2:123456789012:cluster/slipway-kubernetes-kubernetes"
    assert shell == f"kubectl --context {context} exec -it -n slipway deploy/shell -- bash\n"


@pytest.mark.usefixtures("_programs")
def test_it_ends_with_the_exit_code_of_the_command_and_says_what_may_be_missing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    failed = run("connect", "-e", "kubernetes", "shell")

    assert failed.exit_code == 3
    assert "kubectl --context arn:" in capfd.readouterr().out
    assert "run once: aws eks update-kubeconfig" in failed.stderr
    assert "slipway connect -e kubernetes cluster" in failed.stderr


def test_a_place_that_is_not_there_is_refused_with_those_that_are() -> None:
    refused = run("connect", "-e", "small", "login")

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "has no login nodes; it has: head-node" in refused.stderr


def test_an_environment_that_is_not_deployed_is_refused() -> None:
    refused = run("connect", "-e", "team")

    assert refused.exit_code == 2
    assert "`" not in refused.stderr
    assert "is not deployed in account 123456789012, us-west-2: slipway deploy -e team deploys it" in refused.stderr


def test_a_missing_program_is_named_with_its_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    refused = run("connect", "-e", "small")

    assert refused.exit_code == 2
    for words in ("aws is not installed", "session-manager-plugin is not installed", "sudo dpkg -i"):
        assert words in refused.stderr


@pytest.mark.usefixtures("_programs")
@pytest.mark.parametrize("code", [0, 4])
def test_a_job_gets_its_words_as_they_are_and_its_exit_code_comes_back(code: int) -> None:
    words = ["submit", "small-llama", "--name", 'it\'s $HOME; "v1"', str(code)]

    done = run("job", "-e", "small", "--", *words)

    assert done.exit_code == code
    assert done.stdout == f"slipway-job {words}\n"


@pytest.mark.usefixtures("_programs")
def test_a_job_on_kubernetes_runs_in_the_shell(capfd: pytest.CaptureFixture[str]) -> None:
    done = run("job", "-e", "kubernetes", "--", "status", "first")

    assert done.exit_code == 3
    said = capfd.readouterr().out
    assert said.startswith("kubectl --context arn:aws:eks:")
    assert said.endswith(" exec -n slipway deploy/shell -- slipway-job status first\n")


@pytest.mark.usefixtures("_programs")
def test_a_session_that_ends_early_is_no_success(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sudo").write_text("#!/bin/sh\nexit 0\n", "utf-8")

    done = run("job", "-e", "small", "--", "status")

    assert done.exit_code == 1
    assert "the session ended before slipway-job did" in done.stderr


def test_the_real_template_has_the_form_that_a_job_needs(default: Assembly) -> None:
    value = default.template("training")["Outputs"]["HeadNodeSession"]["Value"]["Fn::Join"][1]
    output = "".join(part if isinstance(part, str) else "i-0123" for part in value)

    *_, parameters = on_head_node(output, ["jobs"])

    assert parameters.startswith('{"command": ["sudo su - ubuntu -c ')
    with pytest.raises(RefusedError, match="another version of Slipway"):
        on_head_node("aws ssm start-session --target i-0123", ["jobs"])
