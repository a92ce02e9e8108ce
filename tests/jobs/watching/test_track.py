"""`slipway-job track`: what it posts, and what it refuses. The server is a stand-in."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from tests.jobs.watching.mlflow_stand_in import MlflowStandIn, mlflow_stand_in
from tests.jobs.watching.run_folder import JOB_IDS, Cluster
from tests.jobs.watching.track_case import post_a_training, track, training


@pytest.fixture(autouse=True)
def no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOKEN", "USERNAME", "PASSWORD"):
        monkeypatch.delenv(f"MLFLOW_TRACKING_{name}", raising=False)


@pytest.fixture
def server() -> Iterator[MlflowStandIn]:
    with mlflow_stand_in() as stand_in:
        yield stand_in


def test_a_training_is_posted_once_whatever_stops(
    cluster: Cluster, server: MlflowStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.failures = 2
    monkeypatch.setattr("urllib3.util.retry.time.sleep", lambda _: None)
    post_a_training(cluster, server.url, monkeypatch)
    assert len(server.runs) == 1


@pytest.mark.parametrize(("end", "status"), [("CANCELLED by 1000|None", "KILLED"), ("TIMEOUT|None", "FAILED")])
def test_a_run_that_did_not_end_well_says_so(cluster: Cluster, server: MlflowStandIn, end: str, status: str) -> None:
    folder = training(cluster)
    folder.train(3)
    cluster.queue({})
    cluster.accounting({JOB_IDS["train"]: end})
    assert track(server.url).exit_code == 0
    [run] = server.runs.values()
    assert run["info"]["status"] == status


def test_the_secret_comes_from_the_environment_alone(
    cluster: Cluster, server: MlflowStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = training(cluster)
    folder.run.done_file("train").touch()
    server.authorization = "Bearer hush"
    refused = track(server.url)
    assert (refused.exit_code, "set MLFLOW_TRACKING_TOKEN, or MLFLOW" in refused.output) == (1, True), refused.output
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "hush")
    assert track(server.url).exit_code == 0
    server.authorization = f"Basic {base64.b64encode(b'mia:hush').decode()}"
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "mia")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "hush")
    answer = track(server.url)
    assert answer.exit_code == 0
    assert "hush" not in answer.output
    for address, message in (
        ("http://mia:hush@127.0.0.1:1", "others can read a command line"),
        ("http://mlflow.example", "would go to http://mlflow.example unencrypted: write https://"),
    ):
        refused = track(address)
        assert (refused.exit_code, message in " ".join(refused.output.split())) == (1, True), refused.output


@pytest.mark.parametrize(
    ("run", "address", "message"),
    [
        ("none", "http://127.0.0.1:1", "there is no run none"),
        ("tiny", "", "'' is not the address of an MLflow server: write https://HOST[:PORT]"),
        ("tiny", "databricks", "'databricks' is not the address of an MLflow server"),
        ("tiny", "http://127.0.0.1:1", "http://127.0.0.1:1 does not answer as an MLflow server"),
    ],
)
def test_what_is_said_wrong_is_named(
    cluster: Cluster, run: str, address: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("urllib3.util.retry.time.sleep", lambda _: None)
    training(cluster)
    result = track(address, run)
    assert (result.exit_code, message in " ".join(result.output.split())) == (1, True), result.output
