"""Where Slurm cannot be had from the distribution, the installer says so."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

INSTALL = Path(__file__).with_name("install.sh")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a PATH with what every Linux has, and no package manager."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "cat", "id", "mkdir", "rm"):
        program = shutil.which(name)
        assert program
        (programs / name).symlink_to(program)
    return programs


def install(programs: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [programs / "bash", INSTALL, programs.parent / "slurm"],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_another_distribution_is_named_as_the_reason(programs: Path) -> None:
    refused = install(programs)

    assert refused.returncode == 1
    assert "run it on Debian or Ubuntu" in refused.stderr
    assert not (programs.parent / "slurm").exists()


def test_what_apt_says_is_shown_when_it_finds_no_slurm(programs: Path) -> None:
    for name in ("apt-get", "dpkg-deb"):
        (programs / name).write_text("#!/bin/bash\necho 'E: Unable to locate package slurmctld' >&2\nexit 100\n")
        (programs / name).chmod(0o755)

    refused = install(programs)

    assert refused.returncode == 1
    assert "E: Unable to locate package slurmctld\napt-get found no Slurm" in refused.stderr
