"""What the job kit on a cluster is told of its environment."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuron_constructs.kubernetes import names
from slipway import facts
from slipway.config.environment import Environment
from slipway.config.inference import Inference, ServedModel
from slipway.config.kubernetes import Kubernetes, Team
from slipway.config.training import Training
from slipway_stacks.settings.storage import Storage
from slipway_stacks.settings.teams import team_directories, team_namespace


def slurm_job_environment(environment: Environment, training: Training, storage: Storage) -> dict[str, Any]:
    """Return the content of the kit's `environment.json`; `slipway_jobs.environment.Environment` says what it means.

    Args:
        environment: the environment file.
        training: its `training` section.
        storage: the stack with the buckets and the file system.
    """
    queues = [
        {
            "name": queue.name,
            "training_stack": training.training_stack_of(queue),
            "instance_types": {resource.instance_type: resource.max_count for resource in queue.compute_resources},
            "efa": all(resource.uses_efa for resource in queue.compute_resources),
        }
        for queue in training.queues
    ]
    content = _job_environment(environment, storage, training.cluster_name, queues, training.training_stacks)
    return content | {
        "publisher_role_arn": storage.publisher_role.role_arn if storage.publisher_role else None,
        "kill_wait_seconds": training.kill_wait_seconds,
    }


def kubernetes_job_environment(
    environment: Environment, kubernetes: Kubernetes, storage: Storage, *, image: str, team: Team | None
) -> dict[str, Any]:
    """Return the same for jobs on Kubernetes, where a node group is what a queue is for Slurm.

    Args:
        environment: the environment file.
        kubernetes: its `kubernetes` section.
        storage: the stack with the buckets and the file system.
        image: the training image, by name and tag.
        team: whose jobs; None for those of people without a team.
    """
    # Nodes of Inferentia are for other pods.
    groups = [group for group in kubernetes.node_groups if _trains(group.instance_type) or not group.accelerated]
    queues = [
        {
            "name": group.name,
            "training_stack": kubernetes.training_stack if group.accelerated else None,
            "instance_types": {group.instance_type: group.max_count},
            "efa": group.uses_efa,
        }
        for group in groups
    ]
    jobs = {
        "version": kubernetes.version,
        "namespace": team_namespace(team.name) if team else names.NAMESPACE,
        "user_id": team.uid if team else names.USER_ID,
        "service_account": names.JOBS_SERVICE_ACCOUNT,
        "publisher_service_account": names.PUBLISHER_SERVICE_ACCOUNT,
        "image": image,
        "volume_claim": names.FSX_CLAIM,
        "launcher": kubernetes.launcher,
        "local_queue": names.LOCAL_QUEUE if kubernetes.queueing == "kueue" else None,
        "hugging_face_token_secret": (team or kubernetes).hugging_face_token_secret_arn,
        "pods": {group.instance_type: _pod(group.instance_type) for group in groups},
    }
    # The kit's name of the cluster is what people read; the EKS cluster's own is known when it is deployed.
    cluster_name = f"slipway-{environment.name}-kubernetes"
    content = _job_environment(environment, storage, cluster_name, queues, (kubernetes.training_stack,))
    content["training_stacks"][kubernetes.training_stack]["runtime"] = _runtime(kubernetes.training_stack)
    return content | (team_directories(team.name) if team else {}) | {"kubernetes": jobs}


def _job_environment(
    environment: Environment,
    storage: Storage,
    cluster_name: str,
    queues: Sequence[Mapping[str, Any]],
    training_stacks: Iterable[str],
) -> dict[str, Any]:
    inference, lustre = environment.inference, environment.storage.lustre
    types = {name for queue in queues for name in queue["instance_types"]}
    if inference:
        for model in inference.models:
            types |= {model.instance_type, *_larger_hosts(model, environment.region)}
    return {
        "name": environment.name,
        "region": environment.region,
        "cluster_name": cluster_name,
        "data_bucket": storage.data_bucket.bucket_name,
        "checkpoint_bucket": storage.checkpoint_bucket.bucket_name,
        "model_bucket": storage.model_bucket.bucket_name,
        "queues": queues,
        "instance_types": _instance_types(types, environment.region),
        "training_stacks": {name: _training_stack(name) for name in training_stacks},
        "lustre_capacity_gib": lustre.capacity_gib,
        "lustre_throughput_mb_s": round(lustre.capacity_gib / 1024 * lustre.throughput_mb_s_per_tib),
        "inference": _services(inference, environment.region) if inference else [],
    }


def _trains(instance_type: str) -> bool:
    return facts.instance_family(facts.instance_type(instance_type).family).trains


def _pod(instance_type: str) -> dict[str, int]:
    resources = facts.pod_resources(instance_type)
    return {"cpu_millicores": resources.cpu_millicores, "memory_mib": resources.memory_mib}


def _instance_types(names: Iterable[str], region: str) -> dict[str, Any]:
    return {
        name: _UNPRICED if facts.unpriced_architecture(name) else _instance_type(facts.instance_type(name), region)
        for name in sorted(names)
    }


_UNPRICED: dict[str, Any] = {
    "vcpus": None,
    "memory_gib": None,
    "neuron_devices": 0,
    "logical_neuron_cores": 0,
    "neuron_memory_gib": 0,
    "efa_interfaces": 0,
    "nvme_gib": 0,
    "usd_per_hour": None,
    "price_as_of": None,
}
"""What the kit learns of a CPU type without facts."""


def _instance_type(row: facts.InstanceType, region: str) -> dict[str, Any]:
    price = facts.on_demand_price(row.name, region)
    return {
        "vcpus": row.vcpus,
        "memory_gib": row.memory_gib,
        "neuron_devices": row.neuron_devices,
        "logical_neuron_cores": row.logical_neuron_cores,
        "neuron_memory_gib": row.neuron_memory_gib,
        "efa_interfaces": row.efa_interfaces,
        "nvme_gib": row.nvme_gib,
        "usd_per_hour": price.usd if price else None,
        "price_as_of": price.as_of.isoformat() if price and price.usd is not None else None,
    }


def _training_stack(name: str) -> dict[str, Any]:
    row = facts.training_stack(name)
    return {
        "release": row.release,
        "framework": row.framework,
        "compiler": row.python_packages["neuronx-cc"],
        "job_kit": row.job_kit,
    }


def _runtime(training_stack: str) -> dict[str, str | None]:
    """Return the library in the training image, and the drivers that nodes must have for it."""
    runtime = facts.training_stack(training_stack).runtime
    drivers = facts.drivers_for(runtime)
    return {"version": runtime, "driver_from": drivers.driver_from, "driver_below": drivers.driver_below}


def _larger_hosts(model: ServedModel, region: str) -> list[str]:
    return [row.name for row in facts.larger_hosts(model.engine, model.instance_type, region)]


def _services(inference: Inference, region: str) -> list[dict[str, Any]]:
    """Describe the services; those that are rolled out first: a fixed prefix may lie in the folder of one of them."""
    return [_service(model, region) for model in sorted(inference.models, key=lambda model: model.prefix is not None)]


def _service(model: ServedModel, region: str) -> dict[str, Any]:
    return {
        "model": model.prefix.partition("/")[0] if model.prefix else model.name,
        "engine": model.engine,
        "engine_release": facts.inference_engine(model.engine).release_in(model.image),
        "instance_type": model.instance_type,
        "compiled": model.compiled.model_dump() if model.compiled else None,
        "larger_hosts": _larger_hosts(model, region),
    }
