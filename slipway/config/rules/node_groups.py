"""Rules and notices about the node groups of the Kubernetes cluster: their types, numbers and how they are bought."""

from collections.abc import Iterator

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.kubernetes import NodeGroup
from slipway.config.problems import Finding, Path, listed, shown
from slipway.config.rules.capacity import unreserved_placement
from slipway.config.rules.kubernetes import kubernetes_cluster
from slipway.config.rules.offerings import no_efa, not_offered, not_sold, trains, unknown_type, unused_efa
from slipway.config.rules.registry import environment_rule, node_group_notice, node_group_rule

NODE_GROUPS = ("kubernetes", "node_groups")
"""Path of the list of node groups."""

# The core nodes carry it as their label, which jobs select nodes by.
_NAME_OF_CORE_NODES = "core"


@environment_rule
def node_group_names_distinct(environment: Environment) -> Iterator[Finding]:
    """No two node groups have the same name, and none has that of the core nodes, `core`."""
    seen = {_NAME_OF_CORE_NODES}
    for index, group in enumerate(kubernetes_cluster(environment).node_groups):
        if group.name in seen:
            whose = "the core nodes have" if group.name == _NAME_OF_CORE_NODES else "another node group has"
            yield Finding((*NODE_GROUPS, index, "name"), f"{whose} the name {shown(group.name)}", "Write another name.")
        seen.add(group.name)


@environment_rule
def node_group_without_accelerator(environment: Environment) -> Iterator[Finding]:
    """Some node group is without accelerator: data is prepared and models are converted on its nodes."""
    groups = kubernetes_cluster(environment).node_groups
    if all(group.accelerated for group in groups):
        message = "runs prepare data and convert models on nodes without accelerator, and no node group has such nodes"
        fix = "Add one, which costs nothing while it is idle: {name: cpu, instance_type: m6i.8xlarge}."
        yield Finding(NODE_GROUPS, message, fix, at_key=True)


@node_group_rule
def node_group_type_known(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A node group's instance type is one that Slipway knows."""
    yield from unknown_type((*path, "instance_type"), group.instance_type, facts.instance_types().values())


@node_group_rule
def node_group_type_offered(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """The training zone offers a node group's instance type."""
    zone = environment.network.training_availability_zone_id
    yield from not_offered((*path, "instance_type"), group.instance_type, environment.region, (zone,))


@node_group_rule
def training_stack_on_node_group(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """The cluster's training stack supports a node group's chip."""
    instance_type = facts.instance_type(group.instance_type)
    if not (instance_type.neuron_devices and trains(instance_type)):
        return
    pins = facts.training_stack(kubernetes_cluster(environment).training_stack)
    if instance_type.family not in pins.instance_families:
        message = f"{pins.name} does not support {instance_type.name} (facts of {pins.as_of})"
        families = [name for name in pins.instance_families if facts.instance_family(name).trains]
        yield Finding((*path, "instance_type"), message, f"Write a type of the family {listed(families)}.")


@node_group_rule
def node_driver_fits_training_stack(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """The Kubernetes version has an image whose Neuron driver works with the training stack's runtime library."""
    cluster = kubernetes_cluster(environment)
    version, pins = facts.kubernetes_version(cluster.version), facts.training_stack(cluster.training_stack)
    if group.accelerated and version.ami_release_for(pins.runtime) is None:
        release = version.newest_ami_release
        problem = facts.driver_problem(version.ami_releases[release], pins.runtime)
        message = f"{release} has {problem} ({pins.name}, facts of {facts.drivers_for(pins.runtime).as_of})"
        others = [row.name for row in facts.training_stacks().values() if version.ami_release_for(row.runtime)]
        yield Finding((*path, "instance_type"), message, f"Write kubernetes.training_stack {listed(others)}.")


@node_group_rule
def node_group_efa_available(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A node group has EFA only where its instance type has it."""
    yield from no_efa((*path, "efa"), group.instance_type, efa=group.efa)


@node_group_rule
def node_group_efa_between_nodes(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A node group is without EFA only for one node where its type trains over several network cards."""
    yield from unused_efa((*path, "efa"), group.instance_type, efa=group.efa, nodes=group.max_count)


@node_group_rule
def training_stack_has_efa(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A training image for nodes with EFA has EFA's libraries: Slipway pins an installer for the training stack."""
    pins = facts.training_stack(kubernetes_cluster(environment).training_stack)
    if group.accelerated and group.uses_efa and pins.job_kit and pins.efa_installer is None:
        message = f"Slipway has no EFA installer for {pins.name}, but {group.instance_type} has EFA"
        others = [row.name for row in facts.training_stacks().values() if row.job_kit and row.efa_installer is not None]
        fix = f"Write `efa: false` and `max_count: 1`, or kubernetes.training_stack {listed(others)}."
        yield Finding((*path, "efa" if group.efa else "instance_type"), message, fix)


@node_group_rule
def node_group_counts_in_order(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A node group's min_count is not larger than its max_count."""
    if group.min_count > group.max_count:
        message = f"is larger than max_count (got {group.min_count}, max_count is {group.max_count})"
        yield Finding((*path, "min_count"), message, f"Write {group.max_count} or less, or raise max_count.")


@node_group_rule
def node_group_type_sold(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """EC2 sells a node group's instance type in the way that the group asks for."""
    yield from not_sold((*path, "instance_type"), group.instance_type, group.capacity_type, "the node group's")


@node_group_rule
def node_group_block_has_reservation(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A Capacity Block node group names the block by its reservation id."""
    if group.capacity_type == "capacity_block" and group.capacity_reservation_id is None:
        fix = "Add `capacity_reservation_id: cr-...`, which EC2 shows under Capacity Reservations."
        yield Finding((*path, "capacity_type"), "capacity_block needs the id of the block", fix)


@node_group_rule
def node_group_block_starts_empty(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A Capacity Block node group has min_count 0: EC2 gives no node before the block begins, and none after it."""
    if group.capacity_type == "capacity_block" and group.min_count:
        message = f"the node group could not be made before the block begins (got {group.min_count})"
        yield Finding((*path, "min_count"), message, "Remove this line: runs start the nodes when the block has begun.")


@node_group_rule
def node_group_spot_without_reservation(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A Spot node group has no capacity reservation."""
    if group.capacity_type == "spot" and group.capacity_reservation_id is not None:
        fix = "Remove this line, or set the node group's capacity_type to on_demand."
        yield Finding((*path, "capacity_reservation_id"), "Spot capacity cannot come from a reservation", fix)


@node_group_rule
def node_group_placement_of_reservation(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A node group's placement group is that of its reservation; nodes on demand get one of their own with EFA."""
    if group.placement_group is not None:
        reserved = group.capacity_reservation_id is not None
        yield from unreserved_placement((*path, "placement_group"), group.capacity_type, reserved=reserved)


@environment_rule
def node_group_reservation_its_own(environment: Environment) -> Iterator[Finding]:
    """A node group's reservation is used by no other node group and by no Slurm queue: they would take its nodes."""
    queues = environment.training.queues if environment.training else ()
    users = {queue.capacity_reservation_id: f"queue {queue.name}" for queue in queues}
    for index, group in enumerate(kubernetes_cluster(environment).node_groups):
        reservation = group.capacity_reservation_id
        if reservation is not None and reservation in users:
            message = f"{users[reservation]} uses {reservation} already"
            yield Finding((*NODE_GROUPS, index, "capacity_reservation_id"), message, "Name another reservation.")
        users.setdefault(reservation, f"node group {group.name}")


@node_group_notice
def static_node_group_without_reservation(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A node group with accelerators has a min_count and no reservation: its creation waits for EC2, then fails."""
    if group.min_count and group.accelerated and group.capacity_reservation_id is None:
        message = (
            f"the node group comes up only if EC2 has {group.min_count} {group.instance_type} at that moment, "
            "nothing reserves them, and they are paid from then on"
        )
        fix = "Write `min_count: 0`, so that runs start nodes, or name a reservation."
        yield Finding((*path, "min_count"), message, fix)


@node_group_notice
def node_group_is_for_inference(environment: Environment, path: Path, group: NodeGroup) -> Iterator[Finding]:
    """A node group's accelerator is for inference alone: no recipe runs there, only pods of your own."""
    instance_type = facts.instance_type(group.instance_type)
    if instance_type.neuron_devices and not trains(instance_type):
        message = f"no recipe runs on {instance_type.name}, which is for inference"
        yield Finding((*path, "instance_type"), message, "Nothing to do, if pods of your own shall run there.")
