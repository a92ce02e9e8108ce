"""The rights of the jobs' service account are those that the kit uses: no more and no less."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from neuron_constructs.kubernetes.software.job_namespace import job_rights
from neuron_constructs.kubernetes.software.job_space import JobSpace
from slipway_jobs.chain.scripts import STOPPED_STATUS
from slipway_jobs.kubernetes import mpi_run
from slipway_jobs.submit.submission import plan, submit_run
from tests.jobs.chain_case import run_of
from tests.jobs.kubernetes.api_server import ApiServer, Call
from tests.jobs.kubernetes.shell import Shell


def rights(*, mpi: bool, queues: bool) -> set[Call]:
    """Return what the role allows."""
    role = next(one for one in job_rights(JobSpace(environment={}), mpi=mpi, queues=queues) if one["kind"] == "Role")
    return {
        (verb, group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def submit_watch_and_cancel(shell: Shell, api: ApiServer) -> None:
    """Use all that calls the API in the shell."""
    shell.submit()
    shell.stages()
    api.condition("jobsets", "tiny", "Failed")
    shell.submit()
    assert shell.call("cancel", "tiny").exit_code == 0


def run_mpi_job(shell: Shell, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run an MPIJob and stop it."""
    planned = plan(run_of(shell.environment, name="mpi"), shell.environment)
    submission = submit_run(planned)
    known = {"SLIPWAY_SUBMISSION": submission.jobs["train"].split("-")[0], "SLIPWAY_RESTART": "0"}
    for name, value in (known | {"JOB_NAME": "mpi-train-0", "JOB_UID": "1"}).items():
        monkeypatch.setenv(name, value)
    labels = {"training.kubeflow.org/job-name": "mpi", "training.kubeflow.org/job-role": "launcher"}
    api.put("pods", "mpi-launcher", metadata={"labels": labels})

    def stop(verb: str, resource: str) -> None:
        if (verb, resource) == ("get", "mpijobs") and ("mpijobs", "mpi") in api.objects:
            api.before = lambda _verb, _resource: None
            os.kill(os.getpid(), signal.SIGTERM)

    api.before = stop
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert mpi_run.main([str(Path(planned.run.directory) / "run.json")]) == STOPPED_STATUS
    finally:
        signal.signal(signal.SIGTERM, handler)


@pytest.mark.parametrize("queues", [False, True])
@pytest.mark.parametrize("mpi", [False, True])
def test_the_role_allows_what_the_kit_calls_and_nothing_else(
    shell: Shell, api: ApiServer, monkeypatch: pytest.MonkeyPatch, *, mpi: bool, queues: bool
) -> None:
    settings: dict[str, Any] = {"launcher": "mpi" if mpi else "torchrun"}
    shell.configure(**settings, local_queue="jobs" if queues else None)
    api.allowed = rights(mpi=mpi, queues=queues)

    submit_watch_and_cancel(shell, api)
    if mpi:
        run_mpi_job(shell, api, monkeypatch)

    assert set(api.calls) == api.allowed


def test_without_a_right_the_user_is_told_which(shell: Shell, api: ApiServer) -> None:
    api.allowed = rights(mpi=False, queues=False) - {("create", "jobset.x-k8s.io", "jobsets")}

    result = shell.call("submit", "tiny-llama", "--name", "tiny")

    assert 'User "system:serviceaccount:slipway:jobs" cannot create' in result.output
