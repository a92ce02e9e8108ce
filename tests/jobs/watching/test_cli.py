"""The command line as a whole: what it offers, and the real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from typer.testing import CliRunner

from slipway_jobs.cli import app
from tests.jobs.watching.run_folder import JOBS, Cluster

COMMANDS = {"cancel", "check", "logs", "recipes", "status", "submit", "tensorboard", "top"}


def slipway_job(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user of a cluster does."""
    return subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(JOBS)!r}); import slipway_jobs.__main__",
            *arguments,
        ],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_command_explains_itself_and_each_of_its_options() -> None:
    overview = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout

    for name in COMMANDS:
        assert f" {name} " in overview
        explained = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"})
        assert explained.exit_code == 0
        options = [line for line in explained.stdout.splitlines() if line.startswith("│") and "--" in line]
        assert all(len(line.strip("│ ").split("  ")[-1]) > 10 for line in options), explained.stdout


def test_process_prints_the_report_and_ends_with_the_runs_status(cluster: Cluster) -> None:
    folder = cluster.submit()
    folder.finish("prepare")
    folder.attempt("compile", started=60, ended=30, outcome="failed", counted=True)

    process = slipway_job("status", "tiny", "--json")

    assert (process.returncode, process.stderr) == (3, "")
    assert json.loads(process.stdout)["stage"] == "compile"


def test_mistake_is_a_message_without_a_traceback(cluster: Cluster) -> None:
    for arguments in (
        ["status", "no-such-run"],
        ["logs", "no-such-run"],
        ["cancel", "no-such-run"],
        ["check", "none.yaml"],
    ):
        process = slipway_job(*arguments)
        assert process.returncode == 1, process.stderr
        assert "Traceback" not in process.stderr
        assert process.stderr.count("\n") <= 3
    assert slipway_job("stauts").returncode == 2
