"""Submitting a run to Kubernetes: whole or not at all, once, and again where it stopped."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from slipway_jobs.chain.record import read_chain
from slipway_jobs.kubernetes import api as api_module
from slipway_jobs.kubernetes import scheduler
from slipway_jobs.kubernetes.api import Api, Kind, Object
from slipway_jobs.run import TRAINING_STAGES
from slipway_jobs.submit.submission import plan, submit_run
from tests.jobs.chain_case import run_of
from tests.jobs.kubernetes.api_server import ApiServer
from tests.jobs.kubernetes.shell import Shell

CREATE = ("create", "jobset.x-k8s.io", "jobsets")


def test_a_run_is_one_job_set_that_is_written_down_before_it_is_made(shell: Shell, api: ApiServer) -> None:
    written: list[bool] = []
    api.before = lambda verb, _: written.append(shell.run().chain_file.exists()) if verb == "create" else None

    run = shell.submit()

    assert api.calls.count(CREATE) == 1
    assert written == [True]
    job_set = api.objects["jobsets", "tiny"]
    submission = job_set["metadata"]["labels"]["slipway/submission"]
    assert read_chain(run.chain_file).jobs == {stage: f"{submission}-{stage}" for stage in TRAINING_STAGES}
    assert run.scheduler == "kubernetes"
    assert [job["name"] for job in job_set["spec"]["replicatedJobs"]] == ["prepare", "train", "convert", "publish"]


def test_a_dry_run_prints_the_job_set_and_asks_nobody(shell: Shell, api: ApiServer) -> None:
    result = shell.call("submit", "tiny-llama", "--dry-run")

    assert result.exit_code == 0, result.output
    assert "# ---- JobSet\napiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n" in result.output
    assert api.calls == []
    assert not Path(shell.environment.runs_directory).exists()


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "Kubernetes does not accept this pod's service account token: planned 401"),
        (403, "Kubernetes does not allow it: planned 403"),
        (409, "Kubernetes refuses: planned 409"),
        (422, "Kubernetes refuses: planned 422"),
    ],
)
def test_a_refused_job_set_leaves_nothing(shell: Shell, api: ApiServer, status: int, message: str) -> None:
    api.answer("create", status)

    result = shell.call("submit", "tiny-llama", "--name", "tiny")

    assert result.exit_code == 1
    assert f"{message}\nNothing was submitted.\n" in result.output
    assert "Traceback" not in result.output
    assert [path.name for path in Path(shell.environment.runs_directory).iterdir()] == [".tiny.lock"]


def test_without_the_mpi_operator_a_run_for_mpirun_is_refused(shell: Shell, api: ApiServer) -> None:
    shell.configure(launcher="mpi")
    api.kinds.remove("mpijobs")

    result = shell.call("submit", "tiny-llama", "--name", "tiny")

    assert result.exit_code == 1
    assert "the cluster has no mpijobs.kubeflow.org of version v2beta1, which `launcher: mpi` needs" in result.output
    assert (
        "Deploy the environment again, or write `launcher: torchrun` in the `kubernetes` section of its file"
        in result.output
    )
    assert result.output.endswith("Nothing was submitted.\n")
    assert api.objects == {}
    assert not Path(shell.environment.runs_directory, "tiny").exists()


def test_with_the_mpi_operator_it_is_submitted(shell: Shell, api: ApiServer) -> None:
    shell.configure(launcher="mpi")

    shell.submit()

    assert ("jobsets", "tiny") in api.objects


@pytest.mark.parametrize("status", [0, 429, 500, 503])
def test_an_answer_that_is_lost_is_looked_up(shell: Shell, api: ApiServer, status: int) -> None:
    api.answer("create", status, done=True)

    run = shell.submit()

    assert api.calls.count(CREATE) == 1
    assert len(read_chain(run.chain_file).submissions) == 1


@pytest.mark.parametrize("status", [0, 500])
def test_a_call_that_did_nothing_is_no_submission(shell: Shell, api: ApiServer, status: int) -> None:
    api.answer("create", status)

    result = shell.call("submit", "tiny-llama", "--name", "tiny")

    assert result.exit_code == 1
    assert result.output.endswith("Nothing was submitted.\n")
    assert not Path(shell.environment.runs_directory, "tiny").exists()


def test_while_nobody_can_say_whether_it_was_made_the_run_stays_known(shell: Shell, api: ApiServer) -> None:
    api.answer("create", 0, done=True)
    # The first look is for jobs of an earlier submission.
    api.before = lambda verb, _: api.answer("get", 503, times=scheduler.LOOKS) if verb == "create" else None

    result = shell.call("submit", "tiny-llama", "--name", "tiny")

    assert result.exit_code == 1
    assert "Whether the run was submitted is not known: slipway-job status tiny" in result.output
    assert "Nothing was submitted" not in result.output
    assert shell.stages()["prepare"]["state"] == "pending"
    assert "active" in shell.call("submit", "tiny-llama", "--name", "tiny").output


def test_a_submitter_that_is_interrupted_takes_its_job_set_back(
    shell: Shell, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Api.create

    def interrupted(connection: Api, kind: Kind, body: Object) -> None:
        create(connection, kind, body)
        raise KeyboardInterrupt

    monkeypatch.setattr(Api, "create", interrupted)

    with pytest.raises(KeyboardInterrupt):
        submit_run(plan(run_of(shell.environment, name="tiny"), shell.environment))

    assert api.objects == {}
    assert not Path(shell.environment.runs_directory, "tiny").exists()


def test_nothing_is_submitted_while_the_run_has_not_ended(shell: Shell, api: ApiServer) -> None:
    shell.submit()

    result = shell.call("submit", "tiny-llama", "--name", "tiny")

    assert result.exit_code == 1
    assert f"  tiny: job {shell.job('train').split('-')[0]}, active\n" in result.output
    assert "slipway-job cancel tiny" in result.output
    assert api.calls.count(CREATE) == 1


def test_what_failed_is_removed_before_it_is_submitted_again(shell: Shell, api: ApiServer) -> None:
    shell.submit()
    shell.finish("prepare", "compile")
    first = api.objects["jobsets", "tiny"]["metadata"]["uid"]
    api.condition("jobsets", "tiny", "Failed")
    api.lingering = True
    looks = iter(range(3))

    def time_passes(verb: str, _resource: str) -> None:
        ending = verb == "get" and "deletionTimestamp" in api.objects["jobsets", "tiny"]["metadata"]
        if ending and next(looks, None) is None:
            del api.objects["jobsets", "tiny"]
            api.before = lambda _verb, _name: None

    api.before = time_passes
    run = shell.submit()

    job_set = api.objects["jobsets", "tiny"]
    assert job_set["metadata"]["uid"] != first
    assert [job["name"] for job in job_set["spec"]["replicatedJobs"]] == ["train", "convert", "publish"]
    assert [list(one.jobs) for one in read_chain(run.chain_file).submissions] == [
        list(TRAINING_STAGES),
        list(TRAINING_STAGES[2:]),
    ]


def test_a_job_set_that_does_not_go_away_is_named(
    shell: Shell, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = shell.submit()
    before = run.chain_file.read_text(encoding="utf-8")
    api.condition("jobsets", "tiny", "Failed")
    api.lingering = True
    monkeypatch.setattr(scheduler, "CLEAR_SECONDS", 0.1)

    result = shell.call("submit", "tiny-llama", "--name", "tiny")

    assert result.exit_code == 1
    assert "the JobSet tiny of an earlier submission is still being deleted" in result.output
    assert run.chain_file.read_text(encoding="utf-8") == before


def test_a_failed_resubmission_leaves_the_record_as_it_was(shell: Shell, api: ApiServer) -> None:
    run = shell.submit()
    before = run.chain_file.read_text(encoding="utf-8")
    api.condition("jobsets", "tiny", "Failed")
    api.answer("create", 403)

    assert shell.call("submit", "tiny-llama", "--name", "tiny").exit_code == 1
    assert run.chain_file.read_text(encoding="utf-8") == before


def test_two_shells_cannot_submit_a_run_at_once(shell: Shell, api: ApiServer) -> None:
    runs = Path(shell.environment.runs_directory)
    runs.mkdir()
    with (runs / ".tiny.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        result = shell.call("submit", "tiny-llama", "--name", "tiny")

    assert "somebody is submitting the run tiny at this moment" in result.output
    assert api.calls == []


def test_of_two_submitters_at_once_one_wins(shell: Shell, api: ApiServer) -> None:
    planned = [plan(run_of(shell.environment, name="tiny"), shell.environment) for _ in range(2)]
    outcomes: list[str] = []

    def submit(number: int) -> None:
        try:
            submit_run(planned[number])
            outcomes.append("submitted")
        except Exception as error:
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["Refused", "submitted"]
    assert api.calls.count(CREATE) == 1


def test_cancel_deletes_the_job_set_and_the_run_goes_on_when_it_is_submitted_again(
    shell: Shell, api: ApiServer
) -> None:
    shell.submit()
    submission = shell.job("train").split("-")[0]

    assert shell.call("cancel", "tiny").output == f"cancelled tiny, job {submission}\n"
    assert api.objects == {}
    assert shell.report()["state"] == "cancelled"
    assert shell.call("cancel", "tiny").output == "no job of the run tiny waits or runs\n"
    shell.submit()
    assert ("jobsets", "tiny") in api.objects


@pytest.mark.parametrize("command", [("submit", "tiny-llama", "--name", "tiny"), ("cancel", "tiny")])
def test_a_run_of_slurm_is_not_touched(shell: Shell, api: ApiServer, command: tuple[str, ...]) -> None:
    run = shell.submit()
    run.file.write_text(run.model_copy(update={"scheduler": "slurm"}).model_dump_json(), encoding="utf-8")
    calls = len(api.calls)

    result = shell.call(*command)

    assert result.exit_code == 1
    assert "the run tiny was submitted to Slurm: use the head node or a login node for it" in result.output
    assert len(api.calls) == calls


def _no_pod(monkeypatch: pytest.MonkeyPatch, _api: ApiServer) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")


def _nobody_listens(monkeypatch: pytest.MonkeyPatch, _api: ApiServer) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")


def _another_authority(_monkeypatch: pytest.MonkeyPatch, _api: ApiServer) -> None:
    trustme.CA().cert_pem.write_to_path(str(api_module.CREDENTIALS / "ca.crt"))


def _another_token(_monkeypatch: pytest.MonkeyPatch, api: ApiServer) -> None:
    api.token = "another"


def _no_definitions(_monkeypatch: pytest.MonkeyPatch, api: ApiServer) -> None:
    api.kinds.clear()


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (_no_pod, "this is not a pod of the cluster (Service host/port is not set.): open its shell with kubectl exec"),
        (_nobody_listens, "Kubernetes does not answer: "),
        (_another_authority, "certificate verify failed"),
        (_another_token, "Kubernetes does not accept this pod's service account token: Unauthorized"),
        (_no_definitions, "the cluster has no jobsets.jobset.x-k8s.io: its software is not installed"),
    ],
)
def test_a_cluster_that_is_not_there_is_told_in_a_line(
    shell: Shell,
    api: ApiServer,
    monkeypatch: pytest.MonkeyPatch,
    broken: Callable[[pytest.MonkeyPatch, ApiServer], None],
    message: str,
) -> None:
    broken(monkeypatch, api)

    result = shell.call("submit", "tiny-llama", "--name", "tiny")

    assert result.exit_code == 1
    assert message in result.output
    assert result.output.endswith("Nothing was submitted.\n")
    assert "Traceback" not in result.output
