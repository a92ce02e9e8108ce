"""The compact resource definition of MPI jobs takes what the operator understands, and nothing else."""

import copy
import json
from typing import Any

import pytest

from neuron_constructs.kubernetes.software.mpi_job_definition import mpi_job_definition
from tests.kubernetes.manifest_validation import errors_of
from tests.kubernetes.software_stack import VERSION

CONTAINER = {"name": "node", "image": "image:1", "command": ["sleep", "1"]}
REPLICA = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": {"containers": [CONTAINER]}}}
JOB: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v2beta1",
    "kind": "MPIJob",
    "metadata": {"name": "pretrain", "namespace": "slipway"},
    "spec": {
        "slotsPerWorker": 1,
        "launcherCreationPolicy": "WaitForWorkersReady",
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": "/home/slipway/.ssh",
        "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0, "ttlSecondsAfterFinished": 600},
        "mpiReplicaSpecs": {"Launcher": REPLICA, "Worker": {**REPLICA, "replicas": 4}},
    },
}


def edited(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return the job with another value at a path; none removes it."""
    job = copy.deepcopy(JOB)
    place = job
    for part in path[:-1]:
        place = place[part]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return job


def test_a_job_is_valid() -> None:
    assert errors_of(JOB, VERSION) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec",), None),
        (("spec", "mpiReplicaSpecs"), None),
        (("spec", "mpiReplicaSpecs", "Launcher"), None),
        (("spec", "mpiReplicaSpecs", "Worker"), None),
        (("spec", "mpiReplicaSpecs", "Workers"), REPLICA),
        (("spec", "mpiReplicaSpecs", "Launcher", "replicas"), 2),
        (("spec", "mpiReplicaSpecs", "Worker", "replicas"), 0),
        (("spec", "mpiReplicaSpecs", "Worker", "restartPolicy"), "Always"),
        (("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "containers"), []),
        (("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "container"), [CONTAINER]),
        (("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "containers"), [{**CONTAINER, "img": "typo"}]),
        (("spec", "mpiImplementation"), "MVAPICH"),
        (("spec", "launcherCreationPolicy"), "Later"),
        (("spec", "sshAuthMountPath"), ""),
        (("spec", "slotsPerWorker"), "1"),
        (("spec", "runPolicy", "cleanPodPolicy"), "Some"),
        (("spec", "runPolicy", "backoffLimit"), -1),
        (("spec", "runPolicy", "schedulingPolicy"), {"minAvailable": 4}),
        (("spec", "suspended"), True),
    ],
)
def test_a_broken_job_is_refused(path: tuple[str, ...], value: Any) -> None:
    assert errors_of(edited(path, value), VERSION) != []


def structural_errors(schema: dict[str, Any], path: str = "") -> list[str]:
    """Return where a schema is not structural: Kubernetes demands a type at every step."""
    wrong = [] if "type" in schema else [path]
    children = {**schema.get("properties", {})}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            children[key] = schema[key]
    return [
        *wrong,
        *(error for name, child in children.items() for error in structural_errors(child, f"{path}.{name}")),
    ]


def test_the_schema_is_structural_and_small() -> None:
    definition = mpi_job_definition()
    (version,) = definition["spec"]["versions"]

    assert structural_errors(version["schema"]["openAPIV3Schema"]) == []
    # Upstream's has 313 kB.
    assert len(json.dumps(definition)) < 10_000


def test_the_name_is_that_of_group_and_plural() -> None:
    definition = mpi_job_definition()

    assert definition["metadata"]["name"] == "mpijobs.kubeflow.org"
    assert definition["spec"]["names"]["plural"] == "mpijobs"
    assert definition["spec"]["scope"] == "Namespaced"
