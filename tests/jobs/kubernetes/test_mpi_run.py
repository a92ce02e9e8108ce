"""The pod that has an MPIJob do the training: it ends as that ends."""

from __future__ import annotations

import datetime
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.config import incluster_config  # type: ignore[import-untyped]

from slipway_jobs.environment import read_environment
from slipway_jobs.kubernetes import api as api_module
from slipway_jobs.kubernetes import mpi_run
from slipway_jobs.kubernetes.manifests.pods import worker_grace_seconds
from slipway_jobs.run import TrainingRun
from tests.jobs.kubernetes.api_server import ApiServer
from tests.jobs.kubernetes.shell import Shell

OWNER = {"name": "tiny-train-0", "uid": "uid-of-the-job"}
LAUNCHER = {"training.kubeflow.org/job-name": "tiny", "training.kubeflow.org/job-role": "launcher"}


@pytest.fixture
def run(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> TrainingRun:
    """Return a run whose first start trains next."""
    shell.configure(launcher="mpi")
    run = shell.submit()
    shell.finish("prepare")
    known = {"SLIPWAY_SUBMISSION": shell.job("train").split("-")[0], "SLIPWAY_RESTART": "0"}
    for name, value in (known | {"JOB_NAME": OWNER["name"], "JOB_UID": OWNER["uid"]}).items():
        monkeypatch.setenv(name, value)
    return run


@pytest.fixture(autouse=True)
def kept_handler() -> Any:
    """Put the handler of SIGTERM back."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


def call(run: TrainingRun) -> int:
    return mpi_run.main([str(run.file)])


def after(api: ApiServer, looks: int, then: Callable[[], None]) -> None:
    """Let something happen after the MPIJob was looked at some times."""
    left = iter(range(looks))

    def time_passes(verb: str, resource: str) -> None:
        if (verb, resource) == ("get", "mpijobs") and ("mpijobs", "tiny") in api.objects and next(left, None) is None:
            api.before = lambda _verb, _resource: None
            then()

    api.before = time_passes


def ends(api: ApiServer, kind: str) -> Callable[[], None]:
    return lambda: api.condition("mpijobs", "tiny", kind, "MPIJob slipway/tiny has ended.")


def test_the_mpi_job_belongs_to_the_pods_job_and_its_success_is_the_pods(
    run: TrainingRun, shell: Shell, api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def succeeds() -> None:
        shell.finish("compile", "train")
        ends(api, "Succeeded")()

    after(api, 2, succeeds)

    assert call(run) == 0
    reference = api.objects["mpijobs", "tiny"]["metadata"]["ownerReferences"]
    job = {"apiVersion": "batch/v1", "kind": "Job", "controller": False, "blockOwnerDeletion": False}
    assert reference == [OWNER | job]
    said = capsys.readouterr().err
    assert "MPIJob tiny: waits for its workers\n" in said
    assert "MPIJob tiny: Succeeded: MPIJob slipway/tiny has ended.\n" in said


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("stopped", 75),
        # It began and its node went away: chain.attempt sees that at the next start.
        (None, 75),
        ("failed", 1),
    ],
)
def test_a_failed_launcher_ends_as_its_scripts_wrote_down(
    run: TrainingRun, shell: Shell, api: ApiServer, outcome: Any, status: int
) -> None:
    shell.finish("compile")
    shell.attempt("train", outcome)
    after(api, 1, ends(api, "Failed"))

    assert call(run) == status


def test_a_failed_compilation_is_a_failure(run: TrainingRun, shell: Shell, api: ApiServer) -> None:
    shell.attempt("compile", "failed")
    after(api, 1, ends(api, "Failed"))

    assert call(run) == 1


def test_a_launcher_that_never_began_is_a_failure_whatever_happened_before(
    run: TrainingRun, shell: Shell, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.attempt("train", "stopped")
    monkeypatch.setenv("SLIPWAY_RESTART", "1")
    after(api, 1, ends(api, "Failed"))

    assert call(run) == 1


def test_an_mpi_job_that_somebody_deleted_is_a_failure(run: TrainingRun, api: ApiServer) -> None:
    after(api, 1, api.objects.clear)

    assert call(run) == 1


def test_after_the_training_nothing_is_made(run: TrainingRun, shell: Shell, api: ApiServer) -> None:
    shell.finish("compile", "train")

    assert call(run) == 0
    assert ("mpijobs", "tiny") not in api.objects


def test_one_of_an_earlier_start_ends_first(run: TrainingRun, api: ApiServer) -> None:
    api.put("mpijobs", "tiny", metadata={"ownerReferences": [OWNER | {"uid": "earlier"}]})
    api.lingering = True
    first = api.objects["mpijobs", "tiny"]["metadata"]["uid"]

    def gone() -> None:
        del api.objects["mpijobs", "tiny"]
        after(api, 1, ends(api, "Failed"))

    after(api, 3, gone)

    assert call(run) == 1
    assert api.objects["mpijobs", "tiny"]["metadata"]["uid"] != first


def test_one_that_does_not_end_is_told(
    run: TrainingRun, api: ApiServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    api.put("mpijobs", "tiny", metadata={"ownerReferences": [OWNER | {"uid": "earlier"}]})
    api.lingering = True
    grace = worker_grace_seconds(run, read_environment(Path(run.environment_file)))
    monkeypatch.setattr(mpi_run, "GONE_SECONDS", 0.1 - grace)

    assert call(run) == 1
    assert "FAILED: the MPIJob tiny of an earlier start did not end in 0 s" in capsys.readouterr().err


@pytest.mark.parametrize("status", [0, 429, 500])
def test_an_api_that_is_away_for_a_while_is_asked_again(run: TrainingRun, api: ApiServer, status: int) -> None:
    api.answer("get", status, times=2)
    # The answer is lost, the MPIJob is there.
    api.answer("create", status, done=True)
    after(api, 3, ends(api, "Failed"))

    assert call(run) == 1
    assert api.calls.count(("create", "kubeflow.org", "mpijobs")) == 2


def test_an_api_that_stays_away_ends_the_pod(
    run: TrainingRun, api: ApiServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mpi_run, "SILENCE_SECONDS", 0.1)
    api.answer("get", 503, times=1000)

    assert call(run) == 1
    assert "FAILED: Kubernetes cannot answer at the moment (HTTP status 503)" in capsys.readouterr().err


def test_a_refusal_ends_the_pod_at_once(run: TrainingRun, api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answer("create", 403)

    assert call(run) == 1
    assert "FAILED: Kubernetes does not allow it" in capsys.readouterr().err


def test_a_stop_ends_the_launcher_before_its_workers(run: TrainingRun, api: ApiServer) -> None:
    api.put("pods", "tiny-launcher", metadata={"labels": LAUNCHER})
    api.put("pods", "tiny-worker-0", metadata={"labels": LAUNCHER | {"training.kubeflow.org/job-role": "worker"}})
    api.lingering = True
    # It is asked again: nobody else saves the checkpoint.
    api.answer("list", 500)
    deleted: list[str] = []

    def time_passes(verb: str, resource: str) -> None:
        if verb == "delete":
            deleted.append(resource)
        for key in [key for key, found in api.objects.items() if "deletionTimestamp" in found["metadata"]]:
            del api.objects[key]

    def stop() -> None:
        api.before = time_passes
        os.kill(os.getpid(), signal.SIGTERM)

    after(api, 1, stop)

    assert call(run) == 75
    assert deleted == ["pods", "mpijobs"]
    assert ("pods", "tiny-worker-0") in api.objects
    assert "deletionTimestamp" in api.objects["mpijobs", "tiny"]["metadata"]


def test_a_stop_while_the_api_is_away_is_a_stop(
    run: TrainingRun, api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answer("list", 403)
    after(api, 1, lambda: os.kill(os.getpid(), signal.SIGTERM))

    assert call(run) == 75
    assert "the MPIJob ends with this pod's Job" in capsys.readouterr().err


def test_a_token_that_the_cluster_renews_is_read_again(
    run: TrainingRun, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [datetime.datetime(2026, 11, 22, 6, 0)]
    now = SimpleNamespace(now=lambda: clock[0])
    monkeypatch.setattr(incluster_config, "datetime", SimpleNamespace(datetime=now, timedelta=datetime.timedelta))

    def renewed() -> None:
        api.token = "renewed"
        (api_module.CREDENTIALS / "token").write_text("renewed", encoding="utf-8")
        clock[0] += datetime.timedelta(minutes=2)
        after(api, 1, ends(api, "Failed"))

    after(api, 1, renewed)

    assert call(run) == 1
    assert api.objects["mpijobs", "tiny"]["status"]["conditions"][0]["type"] == "Failed"
