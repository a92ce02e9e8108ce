"""Lock all Python packages of a training stack with their checksums, for each Python that its nodes have.

    python -m slipway.training_lock STACK

It asks the stack's package indexes and writes `assets/cluster/python_locks/<stack>-python<version>.txt`. Nodes and the
training image install nothing else from then on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from slipway import facts
from slipway.bundle import ASSETS

_INSTALLER = ASSETS / "jobs" / "slipway_jobs" / "python_packages.py"


def lock_training_stack(stack: str, folder: Path = ASSETS / "cluster" / "python_locks") -> int:
    """Write the locks of a training stack and return the exit code, 0 if all were written.

    Raises:
        slipway.facts.UnknownFact: there is no training stack of that name.
    """
    pins = facts.training_stack(stack)
    packages = [f"{name}=={version}" for name, version in sorted({**pins.python_packages, **pins.job_packages}.items())]
    sources = [f"--source={pattern}={address}" for pattern, address in pins.python_sources.items()]
    folder.mkdir(exist_ok=True)
    systems = [facts.operating_system(name) for name in pins.operating_systems]
    # The oldest glibc of the systems with the same Python.
    versions = {system.python_version: system.glibc_version for system in sorted(systems, key=_glibc, reverse=True)}
    for python, glibc in sorted(versions.items()):
        file = folder / f"{stack}-python{python}.txt"
        command = [sys.executable, str(_INSTALLER), str(file), *packages, *sources, "--write-lock-for", python, glibc]
        if subprocess.run(command, check=False, env={"SLIPWAY_UV": _uv()} | os.environ).returncode:
            return 1
        print(f"{file}: review it, commit it, and deploy: nodes then install nothing else")
    return 0


def _glibc(system: facts.OperatingSystem) -> tuple[int, ...]:
    return tuple(map(int, system.glibc_version.split(".")))


def _uv() -> str:
    return str(Path(sys.executable).with_name("uv"))


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1]:
        print(f"Which training stack? STACK={'|'.join(facts.training_stacks())}", file=sys.stderr)
        sys.exit(2)
    try:
        sys.exit(lock_training_stack(sys.argv[1]))
    except facts.UnknownFact as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
