"""The real CDK CLI on the app, with the CDK's built-in template validation on, as a user types it."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.assembly import PROJECT

CDK = PROJECT / "node_modules" / ".bin" / "cdk"

pytestmark = pytest.mark.gate


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder, empty before the first command: jsii unpacks the CDK in it, for 5 s."""
    return tmp_path_factory.mktemp("home")


def cdk(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the CDK CLI in the project, without AWS variables and with an empty home."""
    environment = {
        "PATH": f"{PROJECT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "CI": "true",
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
    }
    return subprocess.run(
        [str(CDK), *arguments], cwd=PROJECT, env=environment, capture_output=True, text=True, check=False, timeout=180
    )


def test_cdk_synth_is_clean(tmp_path: Path, home: Path) -> None:
    run = cdk("synth", "--quiet", "--output", str(tmp_path / "assembly"), home=home)

    assert run.returncode == 0, run.stdout + run.stderr
    assert len(list((tmp_path / "assembly").glob("*.template.json"))) == 5
    said = run.stdout + run.stderr
    # The default engine's upstream is archived, which every synth says.
    warnings = [line for line in said.lower().splitlines() if "warning" in line]
    assert [("engine-maintained" in line, "write `engine: vllm-hf`" in line) for line in warnings] == [(True, True)]
    assert "end-of-life" not in said


def test_an_invalid_environment_file_ends_with_its_problems_and_nothing_else(tmp_path: Path, home: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text((PROJECT / "environments" / "small.yaml").read_text().replace("trn1.2xlarge", "trn1.3xlarge"))

    run = cdk("synth", "--quiet", "-c", f"environment={broken}", "--output", str(tmp_path / "out"), home=home)

    assert run.returncode == 1
    assert f"{broken}:" in run.stderr
    assert "trn1.3xlarge" in run.stderr
    assert "Traceback" not in run.stdout + run.stderr


def test_a_notice_is_a_warning_that_strict_does_not_let_pass(tmp_path: Path, home: Path) -> None:
    slow = tmp_path / "slow.yaml"
    text = (PROJECT / "environments" / "small.yaml").read_text()
    slow.write_text(text.replace("training:\n", "training:\n  checkpoint: {parameters_billions: 8}\n"))

    run = cdk(
        "synth", "--quiet", "--strict", "-c", f"environment={slow}", "--output", str(tmp_path / "out"), home=tmp_path
    )

    assert run.returncode == 1
    line = slow.read_text().splitlines().index("  checkpoint: {parameters_billions: 8}") + 1
    assert f"WARNING {slow}:{line}:3: training.checkpoint: a checkpoint of 112 GB takes" in run.stderr
    assert "[checkpoint-written-in-time]" in run.stderr
    assert "Traceback" not in run.stdout + run.stderr


def test_an_unknown_environment_names_those_that_exist(tmp_path: Path, home: Path) -> None:
    run = cdk("synth", "--quiet", "-c", "environment=defualt", "--output", str(tmp_path / "out"), home=home)

    assert run.returncode == 1
    assert "default" in run.stderr
    assert "ultracluster" in run.stderr
    assert "Traceback" not in run.stderr
