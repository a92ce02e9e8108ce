"""The Python environment of an exporter: built once for each user, on the first publish that needs it.

It lies in the user's own folder on /fsx, because jobs cannot write to /apps and nobody should run what another user
installed.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from slipway_jobs import python_packages
from slipway_jobs.exporters import Exporter
from slipway_jobs.publishing.bounded_process import run_bounded
from slipway_jobs.publishing.refusal import PublishRefused

DONE = "done"
"""File that says an environment is complete."""

_BUILD_SECONDS = 3600.0
_LOCK_POLL_SECONDS = 5.0


def exporter_environment(exporter: Exporter, parent: Path, tell: Callable[[str], None]) -> Path:
    """Return the environment's folder, built if it is not there.

    Args:
        exporter: what goes into it.
        parent: folder for the environments, which no other user can write to.
        tell: called with a line of progress.

    Raises:
        PublishRefused: no Python fits, or the installation failed or took too long; the next one begins anew.
    """
    folder = parent / exporter.name
    if (folder / DONE).is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    with _alone(folder.with_name(f"{folder.name}.lock"), tell):
        if not (folder / DONE).is_file():
            _build(exporter, folder, tell)
    return folder


def _build(exporter: Exporter, folder: Path, tell: Callable[[str], None]) -> None:
    python = _python(exporter)
    tell(f"building {folder} with {python}: some gigabytes, 10 minutes or more, once")
    shutil.rmtree(folder, ignore_errors=True)
    sources = (f"--source={pattern}={address}" for pattern, address in exporter.python_sources.items())
    installer = [str(folder / "bin" / "python"), python_packages.__file__, str(folder)]
    for command in (
        [python, "-m", "venv", str(folder)],
        [*installer, *exporter.requirements, *sources],
    ):
        if problem := run_bounded(command, seconds=_BUILD_SECONDS, tell=tell):
            raise PublishRefused([f"the environment of optimum-neuron {exporter.version} was not built: {problem}"])
    (folder / DONE).touch()


def _python(exporter: Exporter) -> str:
    """Return an interpreter that the exporter's wheels exist for."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if own in exporter.python_versions:
        return sys.executable
    for version in exporter.python_versions:
        found = shutil.which(f"python{version}")
        if found and subprocess.run([found, "-c", "import venv"], check=False, capture_output=True).returncode == 0:
            return found
    raise PublishRefused(
        [
            f"optimum-neuron {exporter.version} needs Python {' or '.join(exporter.python_versions)}, and this node "
            f"has {own} only: install one of them (with its venv module), or choose operating_system ubuntu2204"
        ]
    )


@contextmanager
def _alone(file: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock while another job of the same user may want to build the same."""
    deadline = time.monotonic() + _BUILD_SECONDS
    with file.open("a", encoding="utf-8") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise PublishRefused(
                        [f"another job has held {file} for {_BUILD_SECONDS / 60:.0f} minutes"]
                    ) from None
                tell(f"another job builds it; waiting for {file}")
                time.sleep(_LOCK_POLL_SECONDS)
        yield
