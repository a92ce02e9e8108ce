"""What `pcluster build-image` makes a node image from: its configuration and the script that bakes it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import aws_cdk as cdk

from neuron_constructs.cluster.node_scripts import lock_file, neuron_lock, python_lock
from slipway import facts

_BAKED_FILES = (
    "steps.sh",
    "operating_system.sh",
    "training_stack.sh",
    "neuron_packages.sh",
    "baked_image.sh",
    "python_environments.sh",
    "neuron_monitor.sh",
    "neuron_monitor_requirements.txt",
    "baked_packages.sh",
    "patching.sh",
    "security_updates.sh",
    "bake_image.sh",
)
"""The node scripts that the image is baked with; the last one runs."""

_INSTALLER = "jobs/slipway_jobs/python_packages.py"
_KIT_REQUIREMENTS = "jobs/requirements.txt"

_BAKING_DIRECTORY = "/opt/slipway/image"

_ROOT_VOLUME_GIB = 82
"""ParallelCluster's own image has 45 GiB, to which `pcluster build-image` adds 37 where no size is given; from Ubuntu's
image, of 8 GiB, the same sum would leave too little for the Python packages (aws-parallelcluster 3.16.1,
pcluster/constants.py, EBS_ROOT_VOLUME_SIZE_DEFAULT; pcluster/imagebuilder_utils.py, PCLUSTER_RESERVED_VOLUME_SIZE)."""


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
            "RootVolume": {"Size": _ROOT_VOLUME_GIB, "Encrypted": True},
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


def bake_script(directory: Path, training_stacks: Sequence[str], operating_system: str) -> str:
    """Render the script that bakes a training stack into the image it runs on, with what a head node would fetch.

    Image Builder hands a script no arguments and the build may read this one object alone, so it carries the node
    scripts, the locks and the job kit's requirements in itself.

    Args:
        directory: folder of the node scripts, `assets/cluster`; the job kit is beside it.
        training_stacks: the cluster's training stacks. What compute nodes install is baked of the first; the Python
            packages of all are stored, so that the image can be the head node's.
        operating_system: ParallelCluster's name of the nodes' operating system.

    Raises:
        slipway.facts.UnknownFact: there is no row for a training stack or the operating system.
    """
    files = {name: (directory / name).read_text("utf-8") for name in _BAKED_FILES}
    files |= dict(_training_stack_files(directory, training_stacks, operating_system))
    kit = [_KIT_REQUIREMENTS] if any(facts.training_stack(stack).job_kit for stack in training_stacks) else []
    files |= {name: (directory.parent / name).read_text("utf-8") for name in (_INSTALLER, *kit)}
    return "\n".join(
        (
            "#!/usr/bin/env bash",
            f"# Bakes the training stack {training_stacks[0]} into an image of {operating_system}; generated from",
            "# assets/cluster at synth, run as root by `pcluster build-image`.",
            "set -euo pipefail",
            f'directory="${{ROOT:-}}{_BAKING_DIRECTORY}"',
            *_here_documents(files),
            f'exec bash "${{directory}}/{_BAKED_FILES[-1]}" {" ".join(training_stacks)}\n',
        )
    )


def _training_stack_files(directory: Path, stacks: Sequence[str], operating_system: str) -> Iterator[tuple[str, str]]:
    for stack in stacks:
        yield lock_file(stack), neuron_lock(stack, operating_system)
        if lock := python_lock(stack, operating_system):
            yield lock, (directory / lock).read_text("utf-8")


def _here_documents(files: Mapping[str, str]) -> Iterator[str]:
    for folder in sorted({str(PurePosixPath(name).parent) for name in files}):
        yield f'mkdir -p "${{directory}}/{folder}"'
    for name, content in files.items():
        yield f"cat >\"${{directory}}/{name}\" <<'END OF {name}'\n{content}END OF {name}"
