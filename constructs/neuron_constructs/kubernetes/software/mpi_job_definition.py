"""The resource definition of MPI jobs, compact: upstream's is too large for an annotation of kubectl apply."""

from typing import Any

from neuron_constructs.kubernetes.software.manifest import Manifest, cluster_object

_GROUP = "kubeflow.org"
_TEXT: Manifest = {"type": "string"}
_TIME: Manifest = {"type": "string", "format": "date-time"}
_COUNT: Manifest = {"type": "integer", "format": "int32", "minimum": 0}
_SECONDS: Manifest = {"type": "integer", "format": "int64", "minimum": 0}
# Kubernetes itself checks a pod when the operator makes it.
_FREE_FORM: Manifest = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def mpi_job_definition() -> Manifest:
    """Return the definition of kubeflow.org/v2beta1 MPIJob.

    Fields, defaults and limits as in kubeflow/mpi-operator @caa3c47 (v0.8.2), pkg/apis/kubeflow/v2beta1/types.go and
    pkg/apis/kubeflow/validation/validation.go, without `schedulingPolicy`, which is of other schedulers. What a pod is
    stays open. What the operator would only tell in its log, that a job lacks a field, is refused at once.
    """
    version = {
        "name": "v2beta1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
        "schema": {
            "openAPIV3Schema": _object(
                {
                    "apiVersion": _TEXT,
                    "kind": _TEXT,
                    "metadata": {"type": "object"},
                    "spec": _spec(),
                    "status": _status(),
                },
                required=["spec"],
            )
        },
    }
    names = {"kind": "MPIJob", "listKind": "MPIJobList", "plural": "mpijobs", "singular": "mpijob"}
    return cluster_object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"mpijobs.{_GROUP}",
        spec={"group": _GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    )


def _spec() -> Manifest:
    replicas = _object({"Launcher": _replica(most=1), "Worker": _replica()}, required=["Launcher", "Worker"])
    return _object(
        {
            "slotsPerWorker": {**_COUNT, "default": 1},
            "runLauncherAsWorker": {"type": "boolean", "default": False},
            "runPolicy": _run_policy(),
            "mpiReplicaSpecs": replicas,
            # Left out, the operator itself takes a folder of root's.
            "sshAuthMountPath": {"type": "string", "minLength": 1},
            "launcherCreationPolicy": _choice("AtStartup", "WaitForWorkersReady"),
            "mpiImplementation": _choice("OpenMPI", "Intel", "MPICH"),
        },
        required=["mpiReplicaSpecs"],
    )


def _run_policy() -> Manifest:
    return _object(
        {
            "cleanPodPolicy": {"type": "string", "enum": ["None", "Running", "All"]},
            "ttlSecondsAfterFinished": _COUNT,
            "activeDeadlineSeconds": _SECONDS,
            "backoffLimit": _COUNT,
            "suspend": {"type": "boolean", "default": False},
            "managedBy": {"type": "string", "enum": ["kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue"]},
        }
    )


def _replica(most: int | None = None) -> Manifest:
    replicas = {**_COUNT, "minimum": 1, **({} if most is None else {"maximum": most})}
    return _object(
        {
            "replicas": replicas,
            "restartPolicy": {"type": "string", "enum": ["Never", "OnFailure"]},
            "template": _object({"metadata": _FREE_FORM, "spec": _pod_spec()}, required=["spec"]),
        },
        required=["template"],
    )


def _pod_spec() -> Manifest:
    containers = {"type": "array", "minItems": 1, "items": _FREE_FORM}
    return {**_FREE_FORM, "required": ["containers"], "properties": {"containers": containers}}


def _status() -> Manifest:
    condition = _object(
        {
            "type": _TEXT,
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": _TEXT,
            "message": _TEXT,
            "lastUpdateTime": {**_TIME, "nullable": True},
            "lastTransitionTime": {**_TIME, "nullable": True},
        },
        required=["type", "status"],
    )
    replica = _object(
        {
            "active": _COUNT,
            "succeeded": _COUNT,
            "failed": _COUNT,
            "labelSelector": _FREE_FORM,
            "selector": _TEXT,
        }
    )
    return _object(
        {
            "conditions": {
                "type": "array",
                "items": condition,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
            "replicaStatuses": {"type": "object", "additionalProperties": replica},
            "startTime": _TIME,
            "completionTime": _TIME,
            "lastReconcileTime": _TIME,
        }
    )


def _object(properties: dict[str, Any], *, required: list[str] | None = None) -> Manifest:
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _choice(default: str, *others: str) -> Manifest:
    return {"type": "string", "enum": [default, *others], "default": default}
