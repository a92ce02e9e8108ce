"""What a pair of assemblies is: an environment, an edit, and all that the edit must be found to do."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slipway.assembly.stacks import Stack, read_stacks
from slipway.review.changes.model import Changes, ResourceChange

Resources = dict[str, Any]
Edit = Callable[["Templates"], None]


class Templates:
    """The templates of an environment, to be edited."""

    def __init__(self, stacks: tuple[Stack, ...]) -> None:
        self.stacks = {role(stack.name): replace(stack, template=copy.deepcopy(stack.template)) for stack in stacks}

    def resources(self, name: str) -> Resources:
        """The resources of the stack with this role."""
        resources: Resources = self.stacks[name].template["Resources"]
        return resources

    def of_type(self, name: str, resource_type: str, number: int = 0) -> Resources:
        """One resource of a type, in the order of the template."""
        found: list[Resources] = [row for row in self.resources(name).values() if row["Type"] == resource_type]
        return found[number]

    def properties(self, name: str, resource_type: str, number: int = 0) -> Any:
        """Its properties."""
        return self.of_type(name, resource_type, number)["Properties"]

    def remove(self, name: str, *resource_types: str) -> None:
        """Take the first resource of each type out of a stack."""
        resources = self.resources(name)
        for resource_type in resource_types:
            del resources[next(key for key, row in resources.items() if row["Type"] == resource_type)]

    @property
    def cluster(self) -> Any:
        """The configuration of the Slurm cluster."""
        return self.properties("training", "Custom::PclusterCluster")["ClusterConfiguration"]


@dataclass(frozen=True)
class Pair:
    """An edit of an environment's templates and its consequences, each as `says` words it.

    Attributes:
        own: resources that change by themselves.
        folded: resources that change because of another one.
        broader: what somebody may do now.
        assets: logical ids of which only an uploaded file changes.
    """

    name: str
    environment: str
    edit: Edit
    own: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()
    assets: tuple[str, ...] = ()
    prepare: Edit | None = None

    def sides(self, folder: Path) -> tuple[tuple[Stack, ...], tuple[Stack, ...]]:
        """Both sides, from the environment's cloud assembly."""
        base = Templates(read_stacks(folder))
        if self.prepare:
            self.prepare(base)
        before = tuple(base.stacks.values())
        head = Templates(before)
        self.edit(head)
        return before, tuple(head.stacks.values())


def role(stack: str) -> str:
    """The part of a stack's name behind the environment's."""
    return stack.rpartition("-")[2]


def says(change: ResourceChange) -> str:
    """A change in words: effect, stack, type, and whether data go."""
    kind = change.type.removeprefix("AWS::")
    return f"{change.effect} {role(change.stack)} {kind}{' with its data' if change.loses_data else ''}"


def own(changes: Changes) -> list[str]:
    """What changes by itself."""
    return sorted(says(change) for change in changes.resources if change.caused_by is None)


def folded(changes: Changes) -> list[str]:
    """What changes because of something else; without alarms and dashboards, which watch nearly everything."""
    following = [change for change in changes.resources if change.caused_by is not None]
    return sorted(says(change) for change in following if not change.type.startswith("AWS::CloudWatch::"))


def with_names(templates: Templates, names: Mapping[str, str]) -> None:
    """Rename resources everywhere, outputs of the stacks aside."""

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {names.get(key, key): renamed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [renamed(item) for item in value]
        return names.get(value, value) if isinstance(value, str) else value

    for name, stack in templates.stacks.items():
        templates.stacks[name] = replace(stack, template=renamed(stack.template))
