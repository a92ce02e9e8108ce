"""Runs for the tests of the chain, and a Slurm of three scripts that remember what they were called with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

from slipway_jobs.check.resolve import resolve
from slipway_jobs.environment import Environment, read_environment
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.problems import RecipeProblems
from slipway_jobs.run import TrainingRun
from tests.assets.sandbox import ASSETS

RECIPES = ASSETS / "jobs" / "recipes"
ENVIRONMENTS = Path(__file__).with_name("environments")


def environment_below(directory: Path, name: str = "cpu") -> Environment:
    """Return a test environment whose shared directories are below one directory."""
    places = {
        "runs_directory": str(directory / "runs"),
        "checkpoints_directory": str(directory / "checkpoints"),
        "prepared_directory": str(directory / "prepared"),
    }
    return read_environment(ENVIRONMENTS / f"{name}.json").model_copy(update=places)


def run_of(
    environment: Environment, recipe: str = "tiny-llama", *overrides: str, name: str | None = None
) -> TrainingRun:
    """Resolve a shipped recipe."""
    file = RECIPES / f"{recipe}.yaml"
    return resolve(load_recipe(file, overrides), file, environment, Path("/nowhere/environment.json"), name)


@lru_cache
def placed(name: str, directory: Path = Path("/shared")) -> tuple[TrainingRun, Environment]:
    """Resolve a shipped recipe in the first of the test environments that has a place for it."""
    for where in ("cpu", "trn1", "trn2"):
        environment = environment_below(directory / where, where)
        try:
            return run_of(environment, name), environment
        except RecipeProblems:
            continue
    pytest.fail(f"no environment has a place for {name}")


def shellcheck(scripts: Mapping[Path, str], folder: Path) -> None:
    """Write rendered scripts into a folder, and expect that shellcheck finds nothing in them."""
    files = [folder / script.name for script in scripts]
    for file, text in zip(files, scripts.values(), strict=True):
        file.write_text(text, encoding="utf-8")
        assert "\nset -euo pipefail\n" in text
    command: list[str | Path] = [Path(sys.executable).with_name("shellcheck"), "--severity=style", *files]
    check = subprocess.run(command, capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout + check.stderr


SBATCH = """#!/bin/bash
echo "sbatch $*" >>"{directory}/calls"
number=$(($(cat "{directory}/number") + 1))
if [[ -e "{directory}/refuse-$number" ]]; then
  echo "sbatch: error: invalid partition specified: cpu" >&2
  exit 1
fi
echo "$number" >"{directory}/number"
echo "$number"
"""
SQUEUE = """#!/bin/bash
echo "squeue $*" >>"{directory}/calls"
if [[ -e "{directory}/unreachable" ]]; then
  echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2
  exit 1
fi
cat "{directory}/queue" 2>/dev/null || true
"""
OTHER = """#!/bin/bash
echo "{name} $*" >>"{directory}/calls"
[[ ! -e "{directory}/{name}-fails" ]]
"""


@dataclass(frozen=True)
class FakeSlurm:
    """sbatch, squeue, scontrol and scancel; files in `directory` say what they answer."""

    directory: Path

    def install(self) -> str:
        """Write the commands and return a PATH that finds them."""
        programs = self.directory / "bin"
        programs.mkdir(parents=True)
        (self.directory / "number").write_text("0", encoding="utf-8")
        texts = {"sbatch": SBATCH, "squeue": SQUEUE, "scontrol": OTHER, "scancel": OTHER}
        for name, text in texts.items():
            program = programs / name
            program.write_text(text.replace("{directory}", str(self.directory)).replace("{name}", name), "utf-8")
            program.chmod(0o755)
        return f"{programs}:{os.environ['PATH']}"

    def say(self, file: str, text: str = "") -> None:
        """Change what the commands answer."""
        (self.directory / file).write_text(text, encoding="utf-8")

    def calls(self, command: str) -> Sequence[str]:
        """Return the arguments of a command's calls."""
        lines = (self.directory / "calls").read_text(encoding="utf-8").splitlines()
        return [line.partition(" ")[2] for line in lines if line.startswith(f"{command} ")]
