"""The spec's words about the cluster in the words of the cluster's constructs."""

from typing import Literal

from neuron_constructs.cluster.access import DirectoryService, LoginNodes, Ssh
from neuron_constructs.cluster.configuration import AccountingDatabase, ClusterConfigurationProps, HeadNode
from neuron_constructs.cluster.node_access import NodeAccess
from neuron_constructs.cluster.queues import ComputeResource, Queue
from neuron_constructs.cluster.shared_storage import SharedStorage, SharedVolume
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.config import queues as spec
from slipway.config.environment import Environment
from slipway.config.training import AppsVolume, HomeVolume, Training
from slipway_stacks.settings.lifetimes import storage_lifecycle
from slipway_stacks.settings.storage import Storage

_CAPACITY_TYPES: dict[str, Literal["ONDEMAND", "SPOT", "CAPACITY_BLOCK"]] = {
    "on_demand": "ONDEMAND",
    "spot": "SPOT",
    "capacity_block": "CAPACITY_BLOCK",
}

_DELETION_POLICIES: dict[str, Literal["Delete", "Snapshot", "Retain"]] = {
    "delete": "Delete",
    "snapshot": "Snapshot",
    "retain": "Retain",
}


def cluster_settings(
    environment: Environment, training: Training, access: NodeAccess, storage: Storage
) -> ClusterConfigurationProps:
    """Return what the cluster's configuration is built from.

    Args:
        environment: the environment file.
        training: its `training` section.
        access: subnet, policies and scripts of all nodes.
        storage: the stack with the file systems and the accounting database.
    """
    return ClusterConfigurationProps(
        region=environment.region,
        parallelcluster_version=training.parallelcluster_version,
        operating_system=training.operating_system,
        head_node=HeadNode(**training.head_node.model_dump()),
        login_nodes=LoginNodes(**training.login_nodes.model_dump()) if training.login_nodes else None,
        ssh=Ssh(**training.ssh.model_dump()) if training.ssh else None,
        directory_service=DirectoryService(**training.directory_service.model_dump())
        if training.directory_service
        else None,
        accounting_database=_accounting_database(storage),
        queues=tuple(_queue(queue, training) for queue in training.queues),
        access=access,
        shared_storage=SharedStorage(
            lustre_file_system_id=storage.lustre.file_system_id,
            home=storage.home or _shared_volume(training.home, environment),
            apps=_shared_volume(training.apps, environment),
            others=storage.shared_directories,
        ),
        scaledown_idletime_minutes=training.scaledown_idletime_minutes,
        kill_wait_seconds=training.kill_wait_seconds,
        queue_update_strategy=training.queue_update_strategy,
        managed_dns=not environment.network.isolated,
        log_retention_days=environment.operations.log_retention_days,
        permissions_boundary_arn=environment.permissions_boundary_arn,
        tags={ENVIRONMENT_TAG: environment.name, **environment.tags},
    )


def _accounting_database(storage: Storage) -> AccountingDatabase | None:
    database = storage.accounting_database
    if database is None:
        return None
    return AccountingDatabase(
        endpoint=database.endpoint,
        user_name=database.user_name,
        password_secret_arn=database.password_secret_arn,
        client_security_group_id=database.client_security_group.security_group_id,
    )


def _shared_volume(volume: HomeVolume | AppsVolume, environment: Environment) -> SharedVolume:
    policy = volume.deletion_policy or ("snapshot" if storage_lifecycle(environment) == "persistent" else "delete")
    return SharedVolume(
        size_gib=volume.size_gib,
        deletion_policy=_DELETION_POLICIES[policy],
        kms_key_arn=environment.kms.key_arn if environment.kms else None,
    )


def _queue(queue: spec.Queue, training: Training) -> Queue:
    exclusive = queue.job_exclusive_allocation
    return Queue(
        name=queue.name,
        capacity_type=_CAPACITY_TYPES[queue.capacity_type],
        capacity_reservation_id=queue.capacity_reservation_id,
        capacity_reservation_resource_group_arn=queue.capacity_reservation_resource_group_arn,
        placement_group=queue.placement_group,
        training_stack=training.training_stack_of(queue),
        job_exclusive_allocation=queue.accelerated if exclusive is None else exclusive,
        custom_ami_id=queue.custom_ami_id,
        compute_resources=tuple(
            ComputeResource(
                name=resource.name,
                instance_type=resource.instance_type,
                min_count=resource.min_count,
                max_count=resource.max_count,
                efa=resource.uses_efa,
            )
            for resource in queue.compute_resources
        ),
    )
