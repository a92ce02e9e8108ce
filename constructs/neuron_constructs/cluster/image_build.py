"""What `pcluster build-image` makes a node image from: its configuration and the script that bakes it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk

from neuron_constructs.cluster.node_scripts import lock_file, neuron_lock
from slipway import facts

_BAKED_FILES = (
    "steps.sh",
    "operating_system.sh",
    "training_stack.sh",
    "neuron_packages.sh",
    "baked_image.sh",
    "patching.sh",
    "security_updates.sh",
    "bake_image.sh",
)
"""The node scripts that the image is baked with; the last one runs."""

_BAKING_DIRECTORY = "/opt/slipway/image"


@dataclass(frozen=True, kw_only=True)
class ImageBuild:
    """One image build: where it runs and what it makes."""

    region: str
    """AWS Region of build and image."""

    operating_system: str
    """ParallelCluster's name of the nodes' operating system; a row of the facts."""

    training_stack: str
    """What is baked in; a row of the facts."""

    instance_type: str
    """EC2 instance type that builds, x86_64. The Neuron driver is built by dkms, which needs no Neuron device."""

    subnet_id: str
    """Private subnet with a way to the internet; the default VPC, which an account may lack, is not used."""

    security_group_id: str
    """Group that lets the build reach package repositories."""

    script_url: str
    """`s3://` URL of `bake_script`."""

    permissions_boundary_arn: str | None
    """Permissions boundary of the roles of the build."""

    tags: Mapping[str, str]
    """Tags of the image and of what builds it."""


def image_id(cluster_name: str, training_stack: str, operating_system: str) -> str:
    """Return the id that ParallelCluster knows an image by: letters, digits and hyphens, once in account and Region."""
    return "-".join((cluster_name, training_stack.replace(".", "-"), operating_system))


def image_configuration(build: ImageBuild) -> dict[str, Any]:
    """Return the configuration of `pcluster build-image`.

    Image Builder updates no packages: kernel and Lustre client must fit together, and the driver is built for that
    kernel. `bake_script` installs the security updates of the others.

    Raises:
        slipway.facts.UnknownFact: there is no row for the operating system.
    """
    tags = [{"Key": key, "Value": value} for key, value in build.tags.items()]
    configuration: dict[str, Any] = {
        "Region": build.region,
        "Image": {
            "RootVolume": {"Encrypted": True},
            "Tags": [*tags, {"Key": "slipway:training-stack", "Value": build.training_stack}],
        },
        "Build": {
            "ParentImage": _parent_image(build),
            "InstanceType": build.instance_type,
            "SubnetId": build.subnet_id,
            "SecurityGroupIds": [build.security_group_id],
            "Imds": {"ImdsSupport": "v2.0"},
            "UpdateOsPackages": {"Enabled": False},
            "Components": [{"Type": "script", "Value": build.script_url}],
            "Tags": tags,
        },
    }
    if build.permissions_boundary_arn:
        configuration["Build"]["Iam"] = {"PermissionsBoundary": build.permissions_boundary_arn}
    return configuration


def _parent_image(build: ImageBuild) -> str:
    """The newest image of the operating system's maker by its ARN, which needs no lookup as the id of an AMI does."""
    name = facts.operating_system(build.operating_system).image_builder_image
    return f"arn:{cdk.Aws.PARTITION}:imagebuilder:{build.region}:aws:image/{name}/x.x.x"


def bake_script(directory: Path, training_stack: str, operating_system: str) -> str:
    """Render the script that bakes a training stack into the image it runs on.

    Image Builder hands a script no arguments and the build may read this one object alone, so it carries the node
    scripts and the lock in itself.

    Args:
        directory: folder of the node scripts, `assets/cluster`.
        training_stack: name of the training stack.
        operating_system: ParallelCluster's name of the nodes' operating system.

    Raises:
        slipway.facts.UnknownFact: there is no row for the training stack or the operating system.
    """
    files = {name: (directory / name).read_text("utf-8") for name in _BAKED_FILES}
    files[lock_file(training_stack)] = neuron_lock(training_stack, operating_system)
    return "\n".join(
        (
            "#!/usr/bin/env bash",
            f"# Bakes the training stack {training_stack} into an image of {operating_system}; generated from",
            "# assets/cluster at synth, run as root by `pcluster build-image`.",
            "set -euo pipefail",
            f'directory="${{ROOT:-}}{_BAKING_DIRECTORY}"',
            'mkdir -p "${directory}/training_stacks"',
            *_here_documents(files),
            f'exec bash "${{directory}}/{_BAKED_FILES[-1]}" {training_stack}\n',
        )
    )


def _here_documents(files: Mapping[str, str]) -> Iterator[str]:
    for name, content in files.items():
        yield f"cat >\"${{directory}}/{name}\" <<'END OF {name}'\n{content}END OF {name}"
