"""The command line: what it refuses, its exit codes, and Ctrl-C."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slipway.assembly.stacks import Stack
from slipway.cli import app
from slipway.rehearse import run as command
from slipway.rehearse.assembly import Assembly
from slipway.rehearse.folder import LockedFolder, RunFolder
from slipway.rehearse.report import Report
from slipway.rehearse.session import Subject
from slipway.rehearse.toolchain import Toolchain
from tests.assembly import environment_path
from tests.rehearse.fakes import ENVIRONMENT, FakeCdk, assembly_files, processes_in, processes_left_in, wait_until


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["rehearse", *arguments])


def test_an_unknown_environment_is_answered_with_the_known_ones() -> None:
    result = invoke("--environment", "defalt")
    assert result.exit_code == 2
    assert "defalt" in result.stderr
    assert "default" in result.stderr
    assert "small" in result.stderr


def test_an_invalid_environment_file_is_answered_with_its_problems(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(
        ENVIRONMENT.read_text(encoding="utf-8").replace("max_count: 4", "max_count: four"), encoding="utf-8"
    )
    result = invoke("--environment", str(file), "--directory", str(tmp_path))
    assert result.exit_code == 2
    assert "max_count" in result.stderr
    assert "Traceback" not in result.output


def test_the_account_holds_the_certificate_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subjects: list[Subject] = []

    def run(subject: Subject, toolchain: Toolchain, directory: Path, **_: bool) -> int:
        subjects.append(subject)
        return 0

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(Toolchain, "require_installed", lambda self: None)
    for file in (ENVIRONMENT, environment_path("machines")):
        assert invoke("--environment", str(file), "--directory", str(tmp_path)).exit_code == 0

    assembly = Assembly(tmp_path, (Stack("network", "us-east-1", {}, {}, termination_protection=False),))
    without, with_one = (
        Toolchain.of_project(tmp_path).emulator_command(tmp_path, assembly, subject.certificate_arns)
        for subject in subjects
    )
    assert "--certificate" not in without
    assert with_one[-2] == "--certificate"
    assert str(with_one[-1]).startswith("arn:aws:acm:us-east-1:")


def test_a_folder_in_use_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Toolchain, "require_installed", lambda self: None)
    with LockedFolder(RunFolder(tmp_path / "default")):
        result = invoke("--environment", "default", "--directory", str(tmp_path))
    assert result.exit_code == 2
    assert "another rehearsal" in result.stderr


def test_a_missing_program_is_named_with_the_way_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "PROJECT", tmp_path)
    result = invoke("--environment", "default", "--directory", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "`make setup` installs it" in result.stderr
    assert not (tmp_path / "out").exists()


_RUN = """
import sys
from pathlib import Path
from slipway.rehearse import phases
from slipway.rehearse.run import run
from tests.rehearse.fakes import NoRoles, fake_toolchain, subject

folder = Path(sys.argv[1])
phases.take_inventory = lambda *_: {}
phases.DeployRoles = NoRoles
sys.exit(run(subject(), fake_toolchain(folder, folder / "bin" / "cdk"), folder / "out"))
"""


@contextmanager
def running_rehearsal(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A rehearsal with fake programs in a process of its own, as a terminal would start it."""
    with subprocess.Popen((sys.executable, "-c", _RUN, folder), cwd=ENVIRONMENT.parents[1]) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_ends_the_cli_and_all_that_it_started(tmp_path: Path, number: signal.Signals) -> None:
    cdk = FakeCdk(tmp_path / "bin")
    cdk.then("synth", hang=True)
    with running_rehearsal(tmp_path) as process:
        wait_until(lambda: cdk.hangs)
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    assert processes_left_in(tmp_path) == []


def test_a_stop_signal_ends_the_emulator_and_leaves_a_report(tmp_path: Path) -> None:
    cdk = FakeCdk(tmp_path / "bin")
    cdk.then("synth", assembly=assembly_files({"slipway-default-network": {"Vpc": {}}}))
    cdk.then("bootstrap", hang=True)
    with running_rehearsal(tmp_path) as process:
        wait_until(lambda: cdk.hangs)
        assert any("emulator.py" in line for line in processes_in(tmp_path))
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert processes_left_in(tmp_path) == []
    report = Report.model_validate_json((tmp_path / "out" / "default" / "report.json").read_text(encoding="utf-8"))
    assert report.outcome == "interrupted"
    assert report.phases[-1].outcome == "interrupted"
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "emulator.py", "out"}
