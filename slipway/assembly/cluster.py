"""A configuration as rules look at it: its kinds of node, their scripts, what they share."""

from collections.abc import Iterator
from dataclasses import dataclass

from slipway import facts
from slipway.assembly.context import Context
from slipway.assembly.sections import Section, UnknownValue

_ACTIONS = ("OnNodeStart", "OnNodeConfigured", "OnNodeUpdated")


@dataclass(frozen=True)
class Cluster:
    """One cluster configuration and what is known around it."""

    root: Section
    context: Context

    def whole(self) -> list[Section]:
        """The configuration itself, for rules that look at it once."""
        return [self.root]

    def head_node(self) -> list[Section]:
        """The head node."""
        return [self.root.section("HeadNode")]

    def queues(self) -> list[Section]:
        """The Slurm queues."""
        return self.root.section("Scheduling").items("SlurmQueues")

    def compute_resources(self) -> list[Section]:
        """The compute resources of all queues; the parent of each is its queue."""
        return [resource for queue in self.queues() for resource in queue.items("ComputeResources")]

    def login_pools(self) -> list[Section]:
        """The pools of login nodes."""
        return self.root.section("LoginNodes").items("Pools")

    def nodes(self) -> list[Section]:
        """All kinds of node: head node, queues, login pools."""
        return [*self.head_node(), *self.queues(), *self.login_pools()]

    def shared_storage(self) -> list[Section]:
        """What all nodes mount."""
        return self.root.items("SharedStorage")

    def scripts(self) -> list[Section]:
        """The custom actions of all nodes, each with its `Script`."""
        return [script for node in self.nodes() for script in node_scripts(node)]

    def head_node_scripts(self) -> list[Section]:
        """The custom actions that run while the head node is made; an update that changes one is refused."""
        return list(node_scripts(self.head_node()[0], ("OnNodeStart", "OnNodeConfigured")))

    @property
    def region(self) -> str:
        """AWS Region."""
        region = self.root.text("Region") or self.context.region
        if region is None:
            raise UnknownValue("the Region is not named")
        return region

    @property
    def release(self) -> facts.ParallelClusterRelease:
        """The limits of the ParallelCluster release that makes the cluster, as far as the facts know it."""
        known = facts.parallelcluster_releases()
        return known.get(self.context.release or "", list(known.values())[-1])

    @property
    def limits(self) -> facts.ConfigurationLimits:
        """What a configuration of that release may say."""
        return facts.configuration_limit(self.release.version)


def node_scripts(node: Section, actions: tuple[str, ...] = _ACTIONS) -> Iterator[Section]:
    """Yield the custom actions of a kind of node, each with its `Script`."""
    for name in actions:
        action = node.section("CustomActions", name)
        steps = action.items("Sequence") if action.has("Sequence") else [action]
        yield from (step for step in steps if step.has("Script"))


def instance_types(resource: Section) -> list[str]:
    """Return the instance types of a compute resource."""
    if resource.has("Instances"):
        return [item.required("InstanceType") for item in resource.items("Instances")]
    return [resource.required("InstanceType")]


def accelerated(resource: Section) -> bool:
    """Whether a compute resource has Neuron devices."""
    return any(facts.devices(name).neuron_devices for name in instance_types(resource))


def accelerated_resources(queue: Section) -> list[Section]:
    """Return the compute resources of a queue that have Neuron devices."""
    return [resource for resource in queue.items("ComputeResources") if accelerated(resource)]


def reservation(resource: Section) -> Section:
    """Return the `CapacityReservationTarget` of a compute resource: its own, or its queue's."""
    own = resource.section("CapacityReservationTarget")
    return own if own.value or resource.parent is None else resource.parent.section("CapacityReservationTarget")


def placement_group(resource: Section) -> Section:
    """Return the `PlacementGroup` of a compute resource: its own, or its queue's."""
    own = resource.section("Networking", "PlacementGroup")
    return own if own.value else queue_of(resource).section("Networking", "PlacementGroup")


def queue_of(resource: Section) -> Section:
    """Return the queue of a compute resource."""
    assert resource.parent is not None, "a compute resource is an item of its queue"
    return resource.parent


def capacity_type(resource: Section) -> str:
    """Return how the nodes of a compute resource are bought, in ParallelCluster's words."""
    return queue_of(resource).text("CapacityType") or "ONDEMAND"


def max_count(cluster: Cluster, resource: Section) -> int:
    """Return the most nodes of a compute resource."""
    return resource.number("MaxCount", default=cluster.limits.default_max_count)


def subnets(node: Section) -> list[str]:
    """Return the subnets of a kind of node, as they are written."""
    networking = node.section("Networking")
    one = networking.written("SubnetId")
    return [one] if one is not None else networking.texts("SubnetIds")
