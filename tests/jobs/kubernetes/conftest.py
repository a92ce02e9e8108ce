"""A pod of a Kubernetes cluster without runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.kubernetes.api_server import ApiServer
from tests.jobs.kubernetes.shell import Shell


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """Return a Kubernetes API that the kit finds as in a pod, and whose waits are short."""
    server = ApiServer()
    server.start(tmp_path / "credentials")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    monkeypatch.setattr("slipway_jobs.kubernetes.api.CREDENTIALS", tmp_path / "credentials")
    for name in ("api.PAUSE_SECONDS", "scheduler.PAUSE_SECONDS", "mpi_run.POLL_SECONDS"):
        monkeypatch.setattr(f"slipway_jobs.kubernetes.{name}", 0.01)
    yield server
    server.stop()


@pytest.fixture
def shell(api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return the cluster's shell."""
    return Shell(api, tmp_path, monkeypatch)
