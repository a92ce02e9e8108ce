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
SCRIPTS = sorted(
    [
        *ASSETS.rglob("*.sh"),
        *ASSETS.rglob("*.sbatch"),
        *(PROJECT / "tests").rglob("*.sh"),
        *(PROJECT / ".ci").iterdir(),
        *(PROJECT / "bin").iterdir(),
    ]
)
README = (ASSETS / "cluster" / "README.md").read_text(encoding="utf-8")
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
def test_download_hosts_are_in_the_generated_files_only(script: Path) -> None:
    hosts = set(re.findall(r"https?://([^/:\"'\s]+)", script.read_text(encoding="utf-8")))

    # The instance metadata service, and a server of the same task.
    assert hosts <= {"169.254.169.254", "127.0.0.1"}


def test_readme_lists_exactly_the_keys_that_the_lock_file_must_have() -> None:
    table = README.split("## training_stacks/")[1].split("\n## ")[0]
    script = (ASSETS / "cluster" / "training_stack.sh").read_text(encoding="utf-8")
    keys = script.split("keys=(")[1].split(")")[0].split()

    assert re.findall(r"^\| `([A-Z_]+)`(?!.*\(optional\) \|$)", table, re.MULTILINE) == keys


def test_readme_lists_every_script_of_the_cluster() -> None:
    table = README.split("# Set-up of the cluster nodes")[1].split("\n## ")[0]
    scripts = {script.name for script in (ASSETS / "cluster").glob("*.sh")}

    assert scripts <= set(re.findall(r"^\| `(.*?)`", table, re.MULTILINE))


def test_readme_lists_every_time_limit_with_its_default() -> None:
    table = dict(re.findall(r"^\| `(SLIPWAY_[A-Z_]+)` \| (\d+) ", README, re.MULTILINE))
    # The health check and the baking of images have documents of their own.
    names = [name for name in (ASSETS / "cluster").glob("*.sh") if not name.stem.startswith(("health", "bake"))]
    scripts = "".join(script.read_text(encoding="utf-8") for script in names)

    assert table == dict(re.findall(r"\{(SLIPWAY_[A-Z_]+):-(\d+)\}", scripts))


def test_a_file_that_two_places_need_is_a_link_in_one() -> None:
    """An edit of one copy would leave the other as it is."""
    contents: dict[bytes, Path] = {}
    copies = []
    for file in sorted(file for file in ASSETS.rglob("*") if file.is_file() and not file.is_symlink()):
        if (content := file.read_bytes()) and "__pycache__" not in file.parts:
            first = contents.setdefault(content, file)
            copies += [f"{name(file)} is a copy of {name(first)}"] if first != file else []

    assert copies == []
