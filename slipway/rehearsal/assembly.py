"""What the rehearsal needs to know of a cloud assembly: its stacks, their region and their templates."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from slipway.rehearsal.errors import RehearsalError


class AssemblyError(RehearsalError):
    """A folder that is no cloud assembly, or one that the rehearsal cannot deploy."""


@dataclass(frozen=True)
class Stack:
    """One stack of the assembly."""

    name: str
    region: str
    template: dict[str, Any]
    termination_protection: bool


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
            manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            artifacts = manifest["artifacts"].items()
            stacks = tuple(
                _stack(folder, name, artifact)
                for name, artifact in artifacts
                if artifact["type"] == "aws:cloudformation:stack"
            )
        except (OSError, ValueError, KeyError) as error:
            raise AssemblyError(f"{folder} is no cloud assembly: {error}") from error
        if not stacks:
            raise AssemblyError(f"the cloud assembly in {folder} has no stack")
        return cls(folder, stacks)

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
    def stack_names(self) -> frozenset[str]:
        """Names of the stacks, without nested ones."""
        return frozenset(stack.name for stack in self.stacks)

    def stacks_that_differ(self, other: "Assembly") -> frozenset[str]:
        """Names of the stacks whose resources are not the same in the other assembly."""
        theirs = {stack.name: stack.template.get("Resources") for stack in other.stacks}
        return frozenset(
            stack.name for stack in self.stacks if stack.template.get("Resources") != theirs.get(stack.name)
        )


def _stack(folder: Path, name: str, artifact: dict[str, Any]) -> Stack:
    properties = artifact["properties"]
    return Stack(
        name=properties.get("stackName", name),
        region=artifact["environment"].rpartition("/")[2],
        template=json.loads((folder / properties["templateFile"]).read_text(encoding="utf-8")),
        termination_protection=properties.get("terminationProtection", False),
    )
