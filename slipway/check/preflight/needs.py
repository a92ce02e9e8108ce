"""What an environment will ask of the account, read from its cloud assembly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slipway.assembly.existing import ExistingResource, existing_in
from slipway.assembly.instances import InstanceGroup, instance_groups
from slipway.assembly.stacks import CLUSTER_TYPE, ENVIRONMENT_TAG, NoAssemblyError, Stack, read_stacks
from slipway.config.problems import near_names
from slipway.errors import RefusedError

EKS_CLUSTER = "AWS::EKS::Cluster"


@dataclass(frozen=True)
class Needs:
    """The stacks that are asked about; each check reads from them what it looks at.

    Attributes:
        environment: the environment's name.
        region: AWS Region of all stacks.
        stacks: the chosen stacks.
        instance_groups: the EC2 instances that these can launch.
        assembly: the folder of the cloud assembly.
    """

    environment: str
    region: str
    stacks: tuple[Stack, ...]
    instance_groups: tuple[InstanceGroup, ...]
    assembly: Path

    def resources(self, *types: str) -> Iterator[tuple[Stack, str, Mapping[str, Any]]]:
        """Yield the resources of these types as (stack, logical id, properties)."""
        for stack in self.stacks:
            for logical_id, resource in stack.template.get("Resources", {}).items():
                if resource["Type"] in types:
                    yield stack, logical_id, resource.get("Properties", {})

    @property
    def account(self) -> str | None:
        """Id of the AWS account that the environment file names; None when it names none."""
        return self.stacks[0].account

    def existing(self, *kinds: str) -> Iterator[ExistingResource]:
        """Yield what the chosen stacks use and do not own, of these kinds."""
        return (resource for resource in existing_in(self.stacks) if resource.kind in kinds)

    @property
    def slurm_clusters(self) -> tuple[str, ...]:
        """Names of the Slurm clusters; ParallelCluster names a stack after each."""
        return tuple(properties["ClusterName"] for _, _, properties in self.resources(CLUSTER_TYPE))

    @property
    def kubernetes_clusters(self) -> tuple[str, ...]:
        """Names of the EKS clusters."""
        return tuple(properties["Name"] for _, _, properties in self.resources(EKS_CLUSTER))


def read_needs(assembly: Path, only: Sequence[str] = ()) -> Needs:
    """Read a cloud assembly.

    Args:
        assembly: its folder.
        only: the stacks to ask about, by name or by role, for example `training`; all when empty.

    Raises:
        RefusedError: the folder is not an assembly of one environment in one Region, or has no stack of that name.
    """
    try:
        stacks = read_stacks(assembly)
    except NoAssemblyError as error:
        raise RefusedError(str(error)) from error
    environment = _only_one({stack.tags.get(ENVIRONMENT_TAG, "") for stack in stacks}, f"tag {ENVIRONMENT_TAG}")
    region = _only_one({stack.region for stack in stacks}, "Region")
    chosen = _chosen(stacks, environment, only)
    names = {stack.name for stack in chosen}
    # A queue's subnet may be in another stack than the queue, so all are read before any is left out.
    launched = tuple(found for found in instance_groups(stacks) if found.stack in names)
    return Needs(environment, region, chosen, launched, assembly)


def _only_one(values: set[str], what: str) -> str:
    if len(values) != 1 or values & {"", "unknown-region"}:
        raise RefusedError(f"the stacks of an environment share one {what}; these have: {sorted(values)}")
    return values.pop()


def _chosen(stacks: tuple[Stack, ...], environment: str, only: Sequence[str]) -> tuple[Stack, ...]:
    roles = {stack.name.removeprefix(f"slipway-{environment}-"): stack for stack in stacks}
    by_name = {**roles, **{stack.name: stack for stack in stacks}}
    unknown = [name for name in only if name not in by_name]
    if unknown:
        hints = [f"there is no stack {name}. {near_names(name, by_name)}".strip() for name in unknown]
        raise RefusedError("; ".join([*hints, f"the stacks are {', '.join(roles)}"]))
    chosen = {by_name[name].name for name in only}
    return tuple(stack for stack in stacks if not only or stack.name in chosen)
