"""What the rehearsal needs to know of a cloud assembly: its stacks, their one region, and where two differ."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from slipway.assembly.existing_network import ExistingNetwork, existing_network
from slipway.assembly.stacks import NoAssemblyError, Stack, read_stacks
from slipway.rehearse.errors import RehearsalError
from slipway.rehearse.isolation import ACCOUNT


class AssemblyError(RehearsalError):
    """A folder that is not a cloud assembly, or one that the rehearsal cannot deploy."""


@dataclass(frozen=True)
class Assembly:
    """A synthesized app."""

    folder: Path
    stacks: tuple[Stack, ...]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest and the templates.

        Raises:
            AssemblyError: there is no manifest, or it has no stack.
        """
        try:
            return cls(folder, read_stacks(folder))
        except NoAssemblyError as error:
            raise AssemblyError(str(error)) from error

    @property
    def region(self) -> str:
        """The one AWS Region of all stacks.

        Raises:
            AssemblyError: the stacks are in several, or leave it open.
        """
        regions = {stack.region for stack in self.stacks}
        if len(regions) != 1 or "unknown-region" in regions:
            raise AssemblyError(f"a rehearsal plays one explicit region, the stacks name: {sorted(regions)}")
        return regions.pop()

    @property
    def account(self) -> str:
        """The AWS account that a rehearsal plays: the one of the environment file, if it names one."""
        return self.stacks[0].account or ACCOUNT

    @property
    def network(self) -> ExistingNetwork | None:
        """The existing VPC. None if the stacks make their own."""
        return existing_network(stack.template for stack in self.stacks)

    @property
    def stack_names(self) -> frozenset[str]:
        """Names of the stacks, without nested ones."""
        return frozenset(stack.name for stack in self.stacks)

    def resource_counts(self) -> dict[str, int]:
        """How many resources each stack has."""
        return {stack.name: len(stack.template.get("Resources", {})) for stack in self.stacks}

    def changed_counts(self, other: "Assembly") -> dict[str, int]:
        """How many resources of each stack are not the same in the other assembly, for stacks that have such."""
        theirs = {stack.name: stack.template.get("Resources", {}) for stack in other.stacks}
        counts = {}
        for stack in self.stacks:
            ours, before = stack.template.get("Resources", {}), theirs.get(stack.name, {})
            counts[stack.name] = sum(ours.get(name) != before.get(name) for name in ours.keys() | before.keys())
        return {name: number for name, number in counts.items() if number}

    def stacks_that_differ(self, other: "Assembly") -> frozenset[str]:
        """Names of the stacks whose resources are not the same in the other assembly."""
        theirs = {stack.name: stack.template.get("Resources") for stack in other.stacks}
        return frozenset(
            stack.name for stack in self.stacks if stack.template.get("Resources") != theirs.get(stack.name)
        )
