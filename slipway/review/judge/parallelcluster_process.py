"""Runs a module in aws-parallelcluster's own virtual environment: a question goes in, an answer comes out."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import slipway_emulator
from slipway.assembly.process_groups import ProcessGroup
from slipway.project import INSTALLATION, PROJECT, parallelcluster_of
from slipway_emulator.functions.packages import jsii_packages, unpack_cdk

PARALLELCLUSTER_PYTHON = parallelcluster_of(PROJECT) / "python"

TIME_LIMIT_SECONDS = 300
"""For one question; the slowest, a whole environment, takes about ten seconds."""


class JudgeFailedError(Exception):
    """ParallelCluster's side ended without an answer; the message says where its log is."""


def run_in_parallelcluster(module: str, question: Any, directory: Path) -> str:
    """Run a module with the paths of a question and an answer, and return the answer.

    Args:
        module: one of `slipway.review.judge.inside_parallelcluster`.
        question: what is written as JSON.
        directory: an existing folder; question, answer, log and the process's HOME are put there.

    Raises:
        JudgeFailedError: the virtual environment is not there, or the other side ended without an answer.
    """
    request, answer, log = (directory / name for name in ("request.json", "answer.json", "parallelcluster.log"))
    request.write_text(json.dumps(question), "utf-8")
    try:
        side = ProcessGroup(
            [PARALLELCLUSTER_PYTHON, "-m", module, request, answer], closed_environment(directory), directory, log
        )
    except FileNotFoundError as missing:
        raise JudgeFailedError(f"{PARALLELCLUSTER_PYTHON} is not there; `{INSTALLATION}` installs it") from missing
    try:
        failed = side.wait(TIME_LIMIT_SECONDS)
    except subprocess.TimeoutExpired as failure:
        raise JudgeFailedError(f"aws-parallelcluster's side failed ({failure}); its log: {log}") from failure
    finally:
        side.end()
    if failed:
        raise JudgeFailedError(f"aws-parallelcluster's side failed (exit code {failed}); its log: {log}")
    return answer.read_text("utf-8")


def unpack_packages() -> None:
    """Unpack what the judge's processes load, before several of them start at the same time."""
    unpack_cdk(PARALLELCLUSTER_PYTHON)


def closed_environment(directory: Path) -> dict[str, str]:
    """Return variables with nothing of the user's: a HOME of its own, no profile, credentials that open nothing.

    Node.js is found beside this process's interpreter or on the PATH.
    """
    home, packages = directory / "home", directory / "packages"
    for folder in (home, packages):
        folder.mkdir(exist_ok=True)
    # Slipway alone, without the packages that are installed beside it: ParallelCluster needs other versions of them.
    for package in (Path(__file__).parents[2], Path(slipway_emulator.__file__).parent):
        link = packages / package.name
        link.unlink(missing_ok=True)
        link.symlink_to(package)
    return {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONPATH": str(packages),
        **jsii_packages(PARALLELCLUSTER_PYTHON),
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
