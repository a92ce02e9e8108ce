"""What every shell script of the project must keep to, whatever it does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.assets.sandbox import ASSETS

PROJECT = ASSETS.parent
SCRIPTS = sorted([*ASSETS.rglob("*.sh"), *(PROJECT / ".ci").iterdir(), *(PROJECT / "bin").iterdir()])
PROGRAMS = [script for script in SCRIPTS if script.read_text(encoding="utf-8").startswith("#!")]


def name(script: Path) -> str:
    return str(script.relative_to(PROJECT))


def test_scripts_are_found() -> None:
    assert {"node_configured.sh", "host_setup.sh", "run"} <= {script.name for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_shellcheck_has_nothing_to_say(script: Path) -> None:
    shellcheck = Path(sys.executable).with_name("shellcheck")
    check = subprocess.run(
        [shellcheck, "--external-sources", "--severity=style", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
    )

    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.parametrize("script", PROGRAMS, ids=name)
def test_program_is_executable_and_stops_at_the_first_error(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert "\nset -euo pipefail\n" in script.read_text(encoding="utf-8")


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_downloads_come_from_the_neuron_repositories_only(script: Path) -> None:
    hosts = set(re.findall(r"https?://([^/\"'\s]+)", script.read_text(encoding="utf-8")))

    assert hosts <= {
        "apt.repos.neuron.amazonaws.com",
        "yum.repos.neuron.amazonaws.com",
        # The instance metadata service.
        "169.254.169.254",
    }


def test_readme_lists_exactly_the_keys_that_the_lock_file_must_have() -> None:
    readme = (ASSETS / "cluster" / "README.md").read_text(encoding="utf-8")
    table = readme.split("## neuron_release.sh")[1].split("\n## ")[0]
    check = (
        (ASSETS / "cluster" / "operating_system.sh").read_text(encoding="utf-8").split("for key in ")[1].split(";")[0]
    )

    assert re.findall(r"^\| `([A-Z_]+)`", table, re.MULTILINE) == check.replace("\\", "").split()
