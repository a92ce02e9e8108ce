"""The scope of a destruction, read from the cloud assembly: what it takes and what it leaves."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slipway.assembly.existing import ExistingResource, existing_in
from slipway.assembly.stacks import ENVIRONMENT_TAG, NoAssemblyError, Stack, read_stacks
from slipway.catalogue import known
from slipway.errors import RefusedError

EKS_CLUSTER = "AWS::EKS::Cluster"


@dataclass(frozen=True)
class Resource:
    """A resource of a template."""

    stack: str
    logical_id: str
    type: str

    def __str__(self) -> str:
        return f"{self.type} {self.logical_id} in {self.stack}"


@dataclass(frozen=True)
class Cluster:
    """A Slurm cluster.

    Attributes:
        name: its name, and the name of its own CloudFormation stack.
        volumes: what becomes of its volumes: mount point -> `Delete`, `Snapshot` or `Retain`.
    """

    name: str
    volumes: Mapping[str, str]


@dataclass(frozen=True)
class Scope:
    """What belongs to an environment.

    Attributes:
        environment: its name.
        region: the AWS Region of its stacks.
        account: id of the AWS account that its file names; None when it names none.
        stacks: the stacks of the app, in the order of the assembly.
        clusters: the Slurm clusters, each a further stack.
        kubernetes_clusters: names of the EKS clusters.
        lost: what holds data and is deleted with its stack.
        kept: what its template keeps.
        existing: what it uses and does not own.
    """

    environment: str
    region: str
    account: str | None
    stacks: tuple[Stack, ...]
    clusters: tuple[Cluster, ...]
    kubernetes_clusters: tuple[str, ...]
    lost: tuple[Resource, ...]
    kept: tuple[Resource, ...]
    existing: tuple[ExistingResource, ...]

    @property
    def deletes_data(self) -> bool:
        """Whether data is lost that cannot be recovered."""
        return bool(self.lost) or any("Delete" in cluster.volumes.values() for cluster in self.clusters)

    @property
    def app_stack_names(self) -> tuple[str, ...]:
        """The app's stacks."""
        return tuple(stack.name for stack in self.stacks)

    @property
    def stack_names(self) -> tuple[str, ...]:
        """The app's stacks and the clusters' own."""
        return (*self.app_stack_names, *(cluster.name for cluster in self.clusters))


def read_scope(assembly: Path) -> Scope:
    """Read a cloud assembly.

    Raises:
        RefusedError: it is none, or its stacks are not those of one environment in one Region.
    """
    try:
        stacks = read_stacks(assembly)
    except NoAssemblyError as error:
        raise RefusedError(str(error)) from error
    resources = list(_resources(stacks))
    return Scope(
        environment=_only({stack.tags.get(ENVIRONMENT_TAG, "") for stack in stacks}, f"tag {ENVIRONMENT_TAG}"),
        region=_only({stack.region for stack in stacks}, "Region"),
        account=stacks[0].account,
        stacks=stacks,
        clusters=tuple(find_clusters(stacks)),
        kubernetes_clusters=tuple(
            definition["Properties"]["Name"] for resource, definition in resources if resource.type == EKS_CLUSTER
        ),
        lost=tuple(find_lost(stacks)),
        kept=tuple(
            resource for resource, definition in resources if definition.get("DeletionPolicy", "Delete") != "Delete"
        ),
        existing=existing_in(stacks),
    )


def _only(values: set[str], what: str) -> str:
    if len(values) != 1 or values & {"", "unknown-region"}:
        raise RefusedError(f"the stacks of an environment share one {what}; these have: {sorted(values)}")
    return values.pop()


def _resources(stacks: Iterable[Stack]) -> Iterator[tuple[Resource, Mapping[str, Any]]]:
    for stack in stacks:
        for logical_id, definition in stack.template.get("Resources", {}).items():
            yield Resource(stack.name, logical_id, definition["Type"]), definition


def find_lost(stacks: Iterable[Stack]) -> Iterator[Resource]:
    """Yield what holds data and is deleted with its stack."""
    for resource, definition in _resources(stacks):
        data = known(resource.type).holds_data
        if data and data.asked and definition.get("DeletionPolicy", "Delete") == "Delete":
            yield resource


def find_clusters(stacks: Iterable[Stack]) -> Iterator[Cluster]:
    """Yield the Slurm clusters of some stacks."""
    for _, definition in _resources(stacks):
        if definition["Type"] == "Custom::PclusterCluster":
            properties = definition["Properties"]
            shared = properties["ClusterConfiguration"].get("SharedStorage", [])
            volumes = {
                storage["MountDir"]: storage["EbsSettings"].get("DeletionPolicy", "Delete")
                for storage in shared
                if storage["StorageType"] == "Ebs"
            }
            yield Cluster(properties["ClusterName"], volumes)
