"""What the job kit hands to the cluster for each shipped recipe is valid; broken ones are refused."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from slipway import facts
from slipway_jobs.kubernetes.manifests import job_set, mpi_job
from slipway_jobs.run import Stage
from tests.jobs.chain_case import environment_below
from tests.jobs.kubernetes.manifest_case import LAUNCHERS, NAMES, OWNER, SECRET, imported, on_kubernetes, placed
from tests.kubernetes.manifest_validation import errors_of
from tests.kubernetes.software_stack import VERSION

SUBMISSION = "0123456789ab"
STAGES: tuple[Stage, ...] = ("prepare", "compile", "train", "convert", "publish")
PART = ("spec", "replicatedJobs", 1)


def made(name: str, launcher: Literal["torchrun", "mpi"], local_queue: str | None) -> Iterator[dict[str, Any]]:
    """Yield the objects of a shipped recipe's run."""
    run, environment = placed(name, launcher, local_queue=local_queue, secret=SECRET)
    for todo in (STAGES, STAGES[2:], STAGES[-1:]):
        yield job_set(run, environment, todo, SUBMISSION)
    if launcher == "mpi":
        yield mpi_job(run, environment, OWNER, SUBMISSION, 0)


@pytest.mark.parametrize("local_queue", [None, "jobs"])
@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", facts.kubernetes_versions())
def test_every_recipe_is_valid(
    name: str, launcher: Literal["torchrun", "mpi"], local_queue: str | None, version: str
) -> None:
    for manifest in made(name, launcher, local_queue):
        assert errors_of(manifest, version) == []


@pytest.mark.parametrize("version", facts.kubernetes_versions())
def test_an_import_is_valid(version: str) -> None:
    environment = on_kubernetes(environment_below(Path("/fsx")), local_queue="jobs", secret=SECRET)
    run = imported(environment)
    assert errors_of(job_set(run, environment, run.stages, SUBMISSION), version) == []


def pods(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the specs of all pods in an object."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(each, dict) and "containers" in each:
            yield each
        else:
            yield from pods(each)


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("name", NAMES)
def test_every_pod_keeps_the_restricted_standard(name: str, launcher: Literal["torchrun", "mpi"]) -> None:
    """https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted."""
    found = [pod for manifest in made(name, launcher, None) for pod in pods(manifest)]

    assert found
    for pod in found:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] != 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        assert {kind for volume in pod["volumes"] for kind in volume.keys() - {"name"}} <= {
            *("configMap", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret")
        }
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert not {"privileged", "runAsUser", "procMount"} & security.keys()


def test_no_manifest_holds_the_token() -> None:
    text = json.dumps([manifest for name in NAMES for manifest in made(name, "torchrun", None)])

    assert "HF_TOKEN" not in text
    assert SECRET not in text


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "replicatedJobs"), []),
        (("spec", "suspended"), True),
        (("spec", "network", "enableDnsHostnames"), False),
        (("spec", "failurePolicy", "maxRestarts"), -1),
        (("spec", "failurePolicy", "restartStrategy"), "Never"),
        (("spec", "failurePolicy", "rules", 0, "action"), "Restart"),
        (("spec", "failurePolicy", "rules", 0, "name"), "stopped-by-a-signal"),
        (("spec", "failurePolicy", "rules", 1, "name"), "stopped"),
        (("spec", "failurePolicy", "rules", 0, "onJobFailureReasons"), ["Stopped"]),
        (("spec", "failurePolicy", "rules", 0, "targetReplicatedJobs"), ["training"]),
        (("spec", "successPolicy", "operator"), "Some"),
        (("metadata", "name"), "x" * 60),
        (("spec", "replicatedJobs", 0, "dependsOn"), [{"name": "train", "status": "Complete"}]),
        ((*PART, "dependsOn"), [{"name": "publish", "status": "Complete"}]),
        ((*PART, "dependsOn", 0, "status"), "Succeeded"),
        ((*PART, "name"), "prepare"),
        ((*PART, "template", "spec", "completionMode"), 1),
        ((*PART, "template", "spec", "retries"), 3),
        ((*PART, "template", "spec", "podFailurePolicy", "rules", 0, "onExitCode"), {}),
        ((*PART, "template", "spec", "template", "spec", "nodeSelectors"), {}),
        ((*PART, "template", "spec", "template", "spec", "containers", 0, "resources", "limit"), {}),
    ],
)
def test_a_broken_job_set_is_refused(path: tuple[str | int, ...], value: Any) -> None:
    run, environment = placed("tiny-llama")
    manifest = copy.deepcopy(job_set(run, environment, STAGES, SUBMISSION))
    assert errors_of(manifest, VERSION) == []
    place: Any = manifest
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value

    assert errors_of(manifest, VERSION) != []
