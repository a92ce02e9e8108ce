"""A cloud assembly, the folder that `cdk synth` writes, as the tools that judge, rehearse and price it read it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLUSTER_TYPE = "Custom::PclusterCluster"
"""Resource type of a Slurm cluster; an environment on Kubernetes alone has none."""

ENVIRONMENT_TAG = "slipway:environment"
"""Tag of every stack of an environment, and so of its resources; its value is the environment's name."""

ACCOUNT_METADATA = "Slipway::Account"
"""Key of the templates' metadata whose value is the id of the AWS account that the environment file names."""

STACK = "aws:cloudformation:stack"
"""Type of the artifacts that are stacks."""


class NoAssemblyError(Exception):
    """A folder that is not a cloud assembly, or that has no stack; the message says which and why."""


@dataclass(frozen=True)
class Stack:
    """One stack of an assembly; nested stacks are assets, not stacks.

    Attributes:
        region: AWS Region, `unknown-region` when the app leaves it open.
    """

    name: str
    region: str
    template: dict[str, Any]
    tags: dict[str, str]
    termination_protection: bool

    @property
    def account(self) -> str | None:
        """Id of the AWS account that the environment file names; None when it names none."""
        return account_of(self.template)


def account_of(template: Mapping[str, Any]) -> str | None:
    """Return the id of the AWS account that a template belongs to; None when it may belong to any."""
    account: str | None = template.get("Metadata", {}).get(ACCOUNT_METADATA)
    return account


def read_artifacts(folder: Path, artifact_type: str) -> dict[str, dict[str, Any]]:
    """Return the artifacts of one type, by id, as the manifest has them.

    Args:
        folder: the cloud assembly.
        artifact_type: for example `cdk:asset-manifest`.

    Raises:
        NoAssemblyError: there is no manifest, or it is not in its format.
    """
    try:
        artifacts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["artifacts"]
        return {name: artifact for name, artifact in artifacts.items() if artifact["type"] == artifact_type}
    except (OSError, ValueError, KeyError) as error:
        raise NoAssemblyError(f"{folder} is not a cloud assembly: {error}") from error


def read_stacks(folder: Path) -> tuple[Stack, ...]:
    """Return the stacks of a cloud assembly, in the order of the manifest.

    Raises:
        NoAssemblyError: the folder is none, or it has no stack.
    """
    try:
        stacks = tuple(_stack(folder, name, artifact) for name, artifact in read_artifacts(folder, STACK).items())
    except (OSError, ValueError, KeyError) as error:
        raise NoAssemblyError(f"{folder} is not a cloud assembly: {error}") from error
    if not stacks:
        raise NoAssemblyError(f"the cloud assembly in {folder} has no stack")
    return stacks


def _stack(folder: Path, name: str, artifact: dict[str, Any]) -> Stack:
    properties = artifact["properties"]
    return Stack(
        name=properties.get("stackName", name),
        region=artifact["environment"].rpartition("/")[2],
        template=json.loads((folder / properties["templateFile"]).read_text(encoding="utf-8")),
        tags=properties.get("tags", {}),
        termination_protection=properties.get("terminationProtection", False),
    )
