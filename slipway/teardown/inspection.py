"""What stands before a teardown: the stacks, the nodes, and what they will leave."""

from dataclasses import dataclass

from slipway.teardown.account import Account
from slipway.teardown.compute_nodes import ComputeNode, compute_nodes
from slipway.teardown.errors import RefusedError
from slipway.teardown.extent import ENVIRONMENT_TAG, Extent
from slipway.teardown.stacks import StandingStack, physical_ids, standing_stacks, with_nested

VOLUME = "AWS::EC2::Volume"


@dataclass(frozen=True)
class Inspection:
    """What was found.

    Attributes:
        stacks: the environment's stacks that stand, by name, the clusters' own among them.
        stack_ids: ARNs of these and of the stacks nested in them.
        volumes: ids of the clusters' volumes.
        nodes: compute nodes that are not terminated, by cluster.
    """

    stacks: dict[str, StandingStack]
    stack_ids: tuple[str, ...]
    volumes: tuple[str, ...]
    nodes: dict[str, list[ComputeNode]]

    @property
    def found_nothing(self) -> bool:
        """Whether neither a stack nor a node is there."""
        return not self.stacks and not any(self.nodes.values())

    @property
    def runs_nodes(self) -> bool:
        """Whether a compute node is there that was not told to terminate: it probably runs a job."""
        return any(not node.is_going for nodes in self.nodes.values() for node in nodes)

    @property
    def protected(self) -> tuple[str, ...]:
        """Names of the stacks with termination protection."""
        return tuple(stack.name for stack in self.stacks.values() if stack.protected)


def inspect(extent: Extent, account: Account) -> Inspection:
    """Look at the account.

    Raises:
        RefusedError: the environment has a stack that the assembly does not know and would leave.
    """
    everything = standing_stacks(account.cloudformation)
    strays = [
        name
        for name, stack in everything.items()
        if stack.tags.get(ENVIRONMENT_TAG) == extent.environment and name not in extent.stack_names
    ]
    if strays:
        raise RefusedError(
            f"{', '.join(strays)} carries the tag of environment {extent.environment!r}, but the environment file no "
            "longer has it: deploy the file first, or delete that stack. Nothing was changed"
        )
    stacks = {name: everything[name] for name in extent.stack_names if name in everything}
    clusters = [stacks[cluster.name].id for cluster in extent.clusters if cluster.name in stacks]
    return Inspection(
        stacks=stacks,
        stack_ids=tuple(with_nested(account.cloudformation, [stack.id for stack in stacks.values()])),
        volumes=tuple(
            volume for stack_id in clusters for volume in physical_ids(account.cloudformation, stack_id, VOLUME)
        ),
        nodes={cluster.name: compute_nodes(account.ec2, cluster.name) for cluster in extent.clusters},
    )
