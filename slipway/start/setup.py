"""Installs the programs of others that a repository needs, in the versions that Slipway is tested with."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import typer

from slipway.bundle import BUNDLE
from slipway.errors import FailedError, RefusedError
from slipway.programs import python_environments
from slipway.project import CDK_FOLDER, PROJECT, parallelcluster_of

_CDK_FILES = ("package.json", "package-lock.json", ".npmrc")
_INSTALLED = ".installed"
"""A copy of the lock that a folder was installed from."""


def set_up(project: Path = PROJECT) -> None:
    """Install what is missing, or is of another version of Slipway.

    Raises:
        RefusedError: the folder is not a project, or is Slipway's own checkout, or there is no npm.
        FailedError: an installer failed; what it said is on the terminal.
    """
    if project == BUNDLE:
        raise RefusedError("this is Slipway's own checkout: run `make setup`")
    if not (project / "cdk.json").is_file():
        raise RefusedError(f"{project} is not a Slipway project: `slipway init FOLDER` makes one")
    _install_cdk(project / CDK_FOLDER)
    _install_parallelcluster(parallelcluster_of(project).parent)


def _install_cdk(folder: Path) -> None:
    lock = BUNDLE / "package-lock.json"
    if _is_there(folder, lock):
        return
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    npm = shutil.which("npm", path=path)
    if npm is None:
        raise RefusedError('Node.js 22 or 24 is missing: `pip install "slipway[node]"`. Nothing was installed')
    typer.echo("the CDK CLI into .tools/cdk", err=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in _CDK_FILES:
        shutil.copyfile(BUNDLE / name, folder / name)
    command = [npm, "ci", "--loglevel", "error"]
    if subprocess.run(command, cwd=folder, env=os.environ | {"PATH": path}, check=False).returncode:
        raise FailedError("npm failed; `slipway setup` tries again")
    shutil.copyfile(lock, folder / _INSTALLED)


def _install_parallelcluster(folder: Path) -> None:
    lock = BUNDLE / "locks" / "requirements-parallelcluster.txt"
    if _is_there(folder, lock):
        return
    typer.echo("aws-parallelcluster into .tools/parallelcluster", err=True)
    python_environments.make(folder, lock, ("--require-hashes",))
    shutil.copyfile(lock, folder / _INSTALLED)


def _is_there(folder: Path, lock: Path) -> bool:
    stamp = folder / _INSTALLED
    return stamp.is_file() and stamp.read_bytes() == lock.read_bytes()
