"""What the JobSet and the MPIJob of a run say. That they are valid is in tests/kubernetes/test_job_manifests.py."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipway_jobs.chain.scripts import grace_seconds, render
from slipway_jobs.kubernetes.manifests import job_set, job_set_name, mpi_job
from slipway_jobs.run import Stage
from tests.jobs.kubernetes.manifest_case import LAUNCHERS, NAMES, OWNER, placed

STAGES: tuple[Stage, ...] = ("prepare", "compile", "train", "convert", "publish")
LABEL = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


def jobs(made: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {job["name"]: job for job in made["spec"]["replicatedJobs"]}


def pod(job: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = job["template"]["spec"]["template"]["spec"]
    return spec


@given(st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", fullmatch=True))
def test_every_name_of_a_run_makes_names_of_pods(run_name: str) -> None:
    name = job_set_name(run_name)

    for pod_name in (f"{name}-prepare-0-0-abcde", f"{name}-train-0-9999-abcde", f"{name}-worker-9999"):
        assert LABEL.fullmatch(pod_name)
    assert name == job_set_name(run_name)


def test_a_plain_name_stays_and_others_are_told_apart() -> None:
    assert job_set_name("llama-3-8b") == "llama-3-8b"
    assert job_set_name("llama-3-8b.v2").startswith("llama-3-8b-v2-")
    assert job_set_name("3b").startswith("run-3b-")
    assert len({job_set_name(name) for name in ("a.b", "a-b", "a..b", "a" * 60 + "b", "a" * 60 + "c")}) == 5


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("name", NAMES)
def test_nodes_are_those_that_slurm_takes(name: str, launcher: Literal["torchrun", "mpi"]) -> None:
    on_slurm, slurm = placed(name, None)
    wanted = re.findall(r"^#SBATCH --nodes=(\d+)$", render(on_slurm, slurm)[on_slurm.script("train")], re.MULTILINE)
    run, environment = placed(name, launcher)

    if launcher == "mpi":
        specs = mpi_job(run, environment, OWNER, "s", 0)["spec"]
        number = specs["mpiReplicaSpecs"]["Worker"]["replicas"]
        spec = specs["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
        assert specs["slotsPerWorker"] == 1
    else:
        job = jobs(job_set(run, environment, STAGES, "s"))["train"]
        number = job["template"]["spec"]["completions"]
        assert number == job["template"]["spec"]["parallelism"]
        spec = pod(job)

    assert [str(number)] == wanted
    resources = spec["containers"][0]["resources"]
    assert resources["requests"] == resources["limits"]
    hardware = run.recipe.hardware
    asked = {key: value for key, value in resources["limits"].items() if key not in ("cpu", "memory")}
    if hardware.device == "neuron":
        assert hardware.instance_type
        instance = environment.instance_types[hardware.instance_type]
        assert asked["aws.amazon.com/neuron"] == str(instance.neuron_devices)
        assert asked.get("vpc.amazonaws.com/efa", "0") == str(instance.efa_interfaces)
        assert spec["tolerations"][0]["key"] == "aws.amazon.com/neuron"
    else:
        assert asked == {}
    assert spec["nodeSelector"] == {"slipway/node-group": run.queue}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_publish_stage_alone_has_the_account_that_may_publish(launcher: Literal["torchrun", "mpi"]) -> None:
    run, environment = placed("tiny-llama", launcher)
    stages = {name: pod(job) for name, job in jobs(job_set(run, environment, STAGES, "s")).items()}
    if launcher == "mpi":
        replicas = mpi_job(run, environment, OWNER, "s", 0)["spec"]["mpiReplicaSpecs"]
        stages |= {kind: each["template"]["spec"] for kind, each in replicas.items()}

    assert {name for name, spec in stages.items() if spec["serviceAccountName"] == "publisher"} == {"publish"}
    assert {spec["serviceAccountName"] for name, spec in stages.items() if name != "publish"} == {"jobs"}


def test_stages_follow_each_other_and_done_ones_are_left_out() -> None:
    run, environment = placed("tiny-llama")

    whole = jobs(job_set(run, environment, STAGES, "s"))
    rest = job_set(run, environment, ("convert", "publish"), "s")

    assert list(whole) == ["prepare", "train", "convert", "publish"]
    assert [job.get("dependsOn") for job in whole.values()] == [
        None,
        *([{"name": before, "status": "Complete"}] for before in ("prepare", "train", "convert")),
    ]
    assert list(jobs(rest)) == ["convert", "publish"]
    assert [rule["action"] for rule in rest["spec"]["failurePolicy"]["rules"]] == ["FailJobSet"]


def test_a_stop_starts_again_without_counting_and_a_failure_counts() -> None:
    run, environment = placed("tiny-llama")
    made = job_set(run, environment, STAGES, "s")

    policy = made["spec"]["failurePolicy"]
    assert policy["maxRestarts"] == run.recipe.restarts.limit
    assert [(rule["action"], rule.get("onJobFailureReasons")) for rule in policy["rules"]] == [
        ("RestartJobSetAndIgnoreMaxRestarts", ["PodFailurePolicy"]),
        ("RestartJobSet", None),
        ("FailJobSet", None),
    ]
    train = jobs(made)["train"]["template"]["spec"]
    assert train["backoffLimit"] == 0
    first, second = train["podFailurePolicy"]["rules"]
    assert first["onExitCodes"] == {"containerName": "stage", "operator": "In", "values": [75]}
    assert second["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert pod(jobs(made)["train"])["terminationGracePeriodSeconds"] > grace_seconds(run, environment)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_what_holds_the_devices_waits_in_the_queue(launcher: Literal["torchrun", "mpi"]) -> None:
    run, environment = placed("llama-3-8b", launcher, local_queue="jobs")

    whole, by_mpi = job_set(run, environment, STAGES, "s"), mpi_job(run, environment, OWNER, "s", 0)

    waits, does_not = (whole, by_mpi) if launcher == "torchrun" else (by_mpi, whole)
    assert waits["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "jobs"
    if launcher == "mpi":
        assert by_mpi["spec"]["runPolicy"]["suspend"] is True
        assert "kueue.x-k8s.io/queue-name" not in does_not["metadata"]["labels"]
        assert by_mpi["metadata"]["ownerReferences"][0]["controller"] is False
    else:
        assert whole["spec"]["suspend"] is True


def test_only_what_starts_an_mpi_job_talks_to_the_cluster() -> None:
    for launcher in LAUNCHERS:
        run, environment = placed("llama-3-8b", launcher)
        made = jobs(job_set(run, environment, STAGES, "s"))
        with_token = [name for name, job in made.items() if pod(job)["automountServiceAccountToken"]]
        assert with_token == (["train"] if launcher == "mpi" else [])
