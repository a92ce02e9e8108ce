"""`slipway-job status` and `logs` of runs on Kubernetes in every phase."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_jobs.kubernetes.job_states import job_states
from slipway_jobs.run import TRAINING_STAGES, Stage
from tests.jobs.kubernetes.api_server import ApiServer
from tests.jobs.kubernetes.shell import Shell
from tests.jobs.watching.run_folder import put_on_neuron

UNSCHEDULABLE = {
    "phase": "Pending",
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/3 nodes are available: 3 Insufficient aws.amazon.com/neuron.",
        }
    ],
}


def waiting(reason: str, message: str | None = None) -> dict[str, Any]:
    """Return the status of a pod whose container waits."""
    why = {"reason": reason} | ({"message": message} if message else {})
    return {"phase": "Pending", "containerStatuses": [{"name": "stage", "state": {"waiting": why}}]}


def states(shell: Shell) -> list[str]:
    return [stage["state"] for stage in shell.stages().values()]


def test_a_new_run_waits_for_its_pods_and_each_stage_for_the_one_before(shell: Shell) -> None:
    shell.submit()

    assert states(shell) == ["pending", "waiting", "waiting", "waiting", "waiting"]
    prepare, compile_ = (shell.stages()[name] for name in ("prepare", "compile"))
    assert (prepare["kubernetes_state"], prepare["reason"]) == ("Starting", "its pods are not made yet")
    assert compile_["reason"] == "waits for the stage before"
    assert prepare["slurm_state"] is None
    assert shell.report()["scheduler"] == "kubernetes"


@pytest.mark.parametrize(
    ("status", "word", "reason"),
    [
        (
            UNSCHEDULABLE,
            "Unschedulable",
            "Unschedulable: waits for free nodes, or for the autoscaler to start them: 0/3 nodes are available: 3 "
            "Insufficient aws.amazon.com/neuron.",
        ),
        (waiting("ContainerCreating"), "ContainerCreating", "its node fetches the image and mounts /fsx"),
        (
            waiting("ImagePullBackOff", 'Back-off pulling image "training:1"'),
            "ImagePullBackOff",
            'the training image cannot be fetched: Back-off pulling image "training:1"',
        ),
        (waiting("CreateContainerConfigError"), "CreateContainerConfigError", "names what is not there"),
        ({"phase": "Pending"}, "Pending", "its node has not begun with it"),
    ],
)
def test_a_pod_that_does_not_run_says_why(shell: Shell, status: dict[str, Any], word: str, reason: str) -> None:
    shell.submit()
    shell.finish("prepare")
    shell.pod("train", 0, node="ip-10-0-0-1")
    shell.pod("train", 1, **status)

    stage = shell.stages()["compile"]

    assert (stage["state"], stage["kubernetes_state"]) == ("pending", word)
    assert reason in stage["reason"]
    assert reason in shell.call("status", "tiny").output
    assert stage["pods"] == [{"name": "tiny-train-0-0", "namespace": "slipway", "node": "ip-10-0-0-1"}]


def test_kueue_says_why_a_run_is_in_the_queue(shell: Shell, api: ApiServer) -> None:
    shell.configure(local_queue="jobs")
    shell.submit()
    owner = [{"kind": "JobSet", "name": "tiny", "uid": "1"}]
    quota = {"type": "QuotaReserved", "status": "False", "message": "insufficient unused quota for neuron, 16 more"}
    api.put("workloads", "jobset-tiny", metadata={"ownerReferences": owner}, status={"conditions": [quota]})
    api.put("workloads", "jobset-other", metadata={"ownerReferences": [owner[0] | {"name": "other"}]})

    stage = shell.stages()["prepare"]

    assert (stage["state"], stage["kubernetes_state"]) == ("pending", "Queued")
    assert stage["reason"] == "Kueue: insufficient unused quota for neuron, 16 more"
    api.condition("workloads", "jobset-tiny", "Admitted")
    api.objects["jobsets", "tiny"]["spec"]["suspend"] = False
    assert shell.stages()["prepare"]["kubernetes_state"] == "Starting"


def test_a_suspended_job_set_is_pending(shell: Shell, api: ApiServer) -> None:
    shell.submit()
    api.objects["jobsets", "tiny"]["spec"]["suspend"] = True

    assert shell.stages()["prepare"]["kubernetes_state"] == "Suspended"
    assert "suspended" in shell.call("submit", "tiny-llama", "--name", "tiny").output


def test_the_nodes_of_train_compile_first(shell: Shell) -> None:
    shell.submit()
    shell.finish("prepare")
    shell.pod("train", 0, node="ip-10-0-0-1")
    shell.pod("train", 1, node="ip-10-0-0-2")

    assert states(shell) == ["done", "running", "waiting", "waiting", "waiting"]
    shell.finish("compile")
    shell.attempt("train", None)
    assert states(shell) == ["done", "done", "running", "waiting", "waiting"]
    shown = shell.call("status", "tiny").output
    assert "Kubernetes" in shown
    command = "kubectl exec -n slipway -it tiny-train-0-0 -- neuron-top"
    assert command in shown
    put_on_neuron(shell.run(), nodes=2)
    assert command in shell.call("top", "tiny").output
    assert command.replace("0-0", "0-1") in shell.call("top", "tiny", "--node", "1").output


@pytest.mark.parametrize(
    ("finished", "job", "failed"),
    [
        ((), "prepare", "prepare"),
        (("prepare",), "train", "compile"),
        (("prepare", "compile"), "train", "train"),
        (("prepare", "compile", "train"), "convert", "convert"),
    ],
)
def test_a_failed_job_set_names_the_stage_that_failed(
    shell: Shell, api: ApiServer, finished: tuple[Stage, ...], job: str, failed: str
) -> None:
    shell.submit()
    shell.finish(*finished)
    rows = [{"name": name, "failed": int(name == job)} for name in ("prepare", "train", "convert", "publish")]
    message = "jobset failed due to reached max number of restarts"
    conditions = [{"type": "Failed", "status": "True", "message": message}]
    api.status("jobsets", "tiny", conditions=conditions, replicatedJobsStatus=rows)

    result = shell.call("status", "tiny", "--json")

    assert result.exit_code == 3
    after = TRAINING_STAGES[TRAINING_STAGES.index(failed) + 1 :]
    expected = dict.fromkeys(finished, "done") | {failed: "failed"} | dict.fromkeys(after, "cancelled")
    assert {name: stage["state"] for name, stage in shell.stages().items()} == expected


def test_a_job_set_that_completed_without_a_stages_file_failed(shell: Shell, api: ApiServer) -> None:
    shell.submit()
    shell.finish("prepare", "compile", "train", "convert")
    api.condition("jobsets", "tiny", "Completed")

    assert states(shell)[-1] == "failed"
    shell.finish("publish")
    assert states(shell) == ["done"] * 5


def test_a_run_that_is_being_cancelled_runs_until_its_pods_are_gone(shell: Shell, api: ApiServer) -> None:
    shell.submit()
    shell.finish("prepare", "compile")
    shell.attempt("train", None)
    shell.pod("train", 0, node="ip-10-0-0-1")
    api.lingering = True

    assert shell.call("cancel", "tiny").exit_code == 0
    assert states(shell) == ["done", "done", "running", "cancelled", "cancelled"]
    assert ", ending\n" in shell.call("submit", "tiny-llama", "--name", "tiny").output
    del api.objects["pods", "tiny-train-0-0"]
    assert states(shell)[2:] == ["cancelled"] * 3


def test_a_job_set_that_is_gone_was_cancelled_unless_the_files_say_otherwise(shell: Shell, api: ApiServer) -> None:
    shell.submit()
    shell.finish("prepare", "compile")
    shell.attempt("train", "stopped")
    del api.objects["jobsets", "tiny"]

    assert states(shell)[2:] == ["cancelled"] * 3
    shell.attempt("train", "failed", restart=1)
    assert states(shell)[2:] == ["failed", "cancelled", "cancelled"]


def test_of_another_submissions_job_set_nothing_is_taken(shell: Shell, api: ApiServer) -> None:
    shell.submit()
    api.objects["jobsets", "tiny"]["metadata"]["labels"]["slipway/submission"] = "other"

    assert states(shell) == ["cancelled"] * 5


@pytest.mark.parametrize("status", [401, 403, 500])
def test_without_an_answer_the_files_tell(shell: Shell, api: ApiServer, status: int) -> None:
    shell.submit()
    shell.finish("prepare")
    api.answer("list", status, times=2)

    report = shell.report()

    assert [stage["state"] for stage in report["stages"]] == ["done", "unknown", "unknown", "unknown", "unknown"]
    assert report["general_notices"][0].startswith("Kubernetes does not answer, so this is what the files tell: ")
    assert "Traceback" not in shell.call("status").output


def test_runs_of_slurm_are_told_by_their_files_alone(shell: Shell, api: ApiServer) -> None:
    run = shell.submit()
    run.file.write_text(run.model_copy(update={"scheduler": "slurm"}).model_dump_json(), encoding="utf-8")
    shell.finish("prepare")
    calls = len(api.calls)

    report = shell.report()

    assert [stage["state"] for stage in report["stages"]] == ["done", "unknown", "unknown", "unknown", "unknown"]
    assert "submitted to Slurm" in report["notices"][0]
    assert len(api.calls) == calls


def test_logs_are_files(shell: Shell) -> None:
    run = shell.submit()
    run.log("prepare").write_text("tokenizing\n", encoding="utf-8")

    assert shell.call("logs", "tiny").output == "tokenizing\n"


def test_tensorboard_is_the_clusters(shell: Shell) -> None:
    shell.submit()

    shown = shell.call("tensorboard", "tiny").output

    assert "kubectl port-forward -n slipway svc/tensorboard 6006:6006" in shown
    assert "http://127.0.0.1:6006" in shown
    assert "ssm" not in shown


def test_nothing_is_said_of_no_stages(shell: Shell, api: ApiServer) -> None:
    shell.submit()

    assert job_states(api.objects["jobsets", "tiny"], [], [], []) == {}
