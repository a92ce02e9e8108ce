"""MLflow's own server takes what `slipway-job track` posts, as the stand-in does."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from tests.assembly import PROJECT
from tests.jobs.watching.conftest import cluster
from tests.jobs.watching.run_folder import Cluster
from tests.jobs.watching.track_case import post_a_training

__all__ = ["cluster"]
pytestmark = pytest.mark.contract


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = PROJECT / ".tools" / "mlflow" / "bin" / "mlflow"
    command = [str(program), "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{tmp_path}/mlflow.db", "--artifacts-destination", str(tmp_path)]
    with (tmp_path / "log").open("w") as log:
        quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "PATH": f"{program.parent}:{os.environ['PATH']}"}
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **quiet}, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    try:
        retries = urllib3.Retry(total=400, backoff_factor=0.1, backoff_max=0.5, status_forcelist=(404, 503))
        urllib3.PoolManager().request("GET", f"{url}/health", retries=retries)
        yield url
    finally:
        os.killpg(process.pid, 15)
        process.wait()


def test_the_server_holds_each_step_once(cluster: Cluster, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_TOKEN", raising=False)
    post_a_training(cluster, server, monkeypatch)
