"""Slipway from its wheel, with Python alone: a repository is made, planned, judged, deployed and destroyed."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.assembly import PROJECT

pytestmark = pytest.mark.rehearsal

UV = Path(sys.executable).parent / "uv"
ME = ("-c", "user.name=me", "-c", "user.email=me@example.com")
OURS = ("slipway", "slipway_stacks", "slipway_emulator", "slipway_pause", "neuron_constructs")


def digests(site: Path) -> dict[str, str]:
    """The content of every installed file of ours, but for what Python compiles."""
    return {
        str(file.relative_to(site)): hashlib.sha256(file.read_bytes()).hexdigest()
        for package in OURS
        for file in sorted((site / package).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_a_repository_of_ones_own_is_planned_judged_deployed_and_destroyed(tmp_path: Path) -> None:
    programs = tmp_path / "venv" / "bin"
    options = ("--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable)
    subprocess.run([UV, "build", *options, "--out-dir", tmp_path / "dist", PROJECT], check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--python", programs / "python", f"{wheel}[rehearse,node]"], check=True
    )
    (site,) = (tmp_path / "venv").glob("lib/python3*/site-packages")
    before = digests(site)
    # The installers have their caches and find their registries as this process does; the HOME is empty.
    ours = ("AWS_", "JSII_", "PYTHON", "VIRTUAL")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    cache = subprocess.run([UV, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    variables = {
        **kept,
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "UV_CACHE_DIR": cache,
        "npm_config_cache": str(Path.home() / ".npm"),
    }
    (tmp_path / "home").mkdir()
    repository = tmp_path / "mine"

    def run(*command: str, folder: Path = repository) -> str:
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    wish = ("--size", "small", "--region", "us-east-2", "--orchestrator", "slurm", "--endpoint")
    run("slipway", "init", "mine", *wish, folder=tmp_path)
    run("slipway", "setup")
    run("git", "init", "--quiet", "--initial-branch", "main")
    run("git", "add", "--all")
    run("git", *ME, "commit", "--quiet", "--message", "first")
    file = repository / "environments" / "mine.yaml"
    file.write_text(file.read_text().replace("max_count: 2", "max_count: 3"))

    assert "MaxCount: 2 -> 3" in run("slipway", "plan", "-e", "mine", "--base", "main")
    # An upgrade: main names another wheel, here the same one by its path, and is synthesized with that.
    requirements = repository / "requirements.txt"
    requirements.write_text(f"slipway[rehearse] @ {wheel.as_uri()}\n")
    run("git", *ME, "commit", "--quiet", "--message", "pinned", "requirements.txt")
    requirements.write_text(f"slipway[rehearse,node] @ {wheel.as_uri()}\n")
    planned = run("slipway", "plan", "-e", "mine", "--base", "main")
    assert "MaxCount: 2 -> 3" in planned
    assert "another requirements.txt" not in planned
    assert len(list(repository.glob(".plan/base-environments/*/.installed"))) == 1
    requirements.write_text(f"slipway[rehearse] @ {wheel.as_uri()}\n")
    assert "passed" in run("slipway", "judge", "mine")
    assert "rehearsal passed: 5 stacks" in run("slipway", "rehearse", "-e", "mine")
    assert run("git", "status", "--short") == " M environments/mine.yaml\n"
    assert digests(site) == before
