"""What an environment will ask of the account, read from its cloud assembly."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slipway.assembly import Stack
from slipway.machines import Machines


@dataclass(frozen=True)
class Needs:
    """The stacks that are asked about; each check reads from them what it looks at.

    Attributes:
        environment: the environment's name.
        region: AWS Region of all stacks.
        stacks: the chosen stacks.
        machines: the EC2 instances that these can launch.
        assembly: the folder of the cloud assembly.
    """

    environment: str
    region: str
    stacks: tuple[Stack, ...]
    machines: tuple[Machines, ...]
    assembly: Path

    def resources(self, *types: str) -> Iterator[tuple[Stack, str, Mapping[str, Any]]]:
        """Yield the resources of these types as (stack, logical id, properties)."""
        for stack in self.stacks:
            for logical_id, resource in stack.template.get("Resources", {}).items():
                if resource["Type"] in types:
                    yield stack, logical_id, resource.get("Properties", {})
