"""User data of an inference host: what it is told, and where its scripts are."""

import hashlib
import shlex
from collections.abc import Mapping
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from neuron_constructs.inference.model import LocalCopy, Model, MountedBucket, MountedLustre
from neuron_constructs.proxy import Proxy
from slipway import facts

_LEAST_SETUP_SECONDS = 2700
_MOST_SETUP_SECONDS = 6000
# A lifecycle hook waits two hours at most, the hold included.

HOLD_SECONDS = 300
"""Seconds for which a host whose set-up failed is kept for a look at it. They bound the pace of replacements."""

VOLUME_LABEL = "slipway"
"""Label of the file system of a host's own copy of the model: 12 characters at most (mkfs.xfs, option -L)."""

_SOURCES = {MountedBucket: "mountpoint", LocalCopy: "sync", MountedLustre: "lustre"}


class HostScripts(Construct):
    """The scripts of a host, as an archive in the CDK's asset bucket.

    User data holds at most 16 KiB, and these are more. It names the SHA-256 of each, so that a host runs what was
    synthesized, and a changed script changes the launch template.
    """

    asset: s3_assets.Asset
    sums: str

    def __init__(self, scope: Construct, id: str, directory: Path) -> None:  # noqa: A002
        """Upload the scripts.

        Args:
            scope: parent construct.
            id: construct id.
            directory: the scripts; links to files elsewhere are followed.
        """
        super().__init__(scope, id)
        self.asset = s3_assets.Asset(
            self,
            "Archive",
            path=str(directory),
            exclude=["__pycache__"],
            follow_symlinks=cdk.SymlinkFollowMode.EXTERNAL,
        )
        files = sorted(path for path in directory.iterdir() if path.is_file())
        self.sums = "\n".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files)

    @property
    def object_arn(self) -> str:
        """ARN of the archive."""
        return self.asset.bucket.arn_for_objects(self.asset.s3_object_key)


def set_up_seconds(model: Model) -> int:
    """Return the most seconds of a host's set-up: a copy is written and then read once, at its volume's throughput."""
    if not isinstance(model.source, LocalCopy):
        return _LEAST_SETUP_SECONDS
    copy = 2 * model.source.volume_gib * 1024 // model.source.throughput_mib_s
    return min(max(600 + copy, _LEAST_SETUP_SECONDS), _MOST_SETUP_SECONDS)


def model_mount(model: Model) -> str:
    """Return the directory at which a host mounts what has the model: its folder, or the file system with it."""
    return model.host_directory if isinstance(model.source, MountedBucket) else "/mnt/models"


def _model_device(model: Model) -> str:
    """Return what is mounted there, as fstab calls it."""
    source = model.source
    if isinstance(source, MountedLustre):
        return f"{source.dns_name}@tcp:/{source.mount_name}{source.directory}"
    if isinstance(source, LocalCopy):
        return f"LABEL={VOLUME_LABEL}"
    return f"s3://{model.bucket.bucket_name}/{model.prefix}/"


def model_variables(model: Model) -> Mapping[str, str]:
    """Return what a host must know of its model."""
    return {
        "SLIPWAY_MODEL_SOURCE": _SOURCES[type(model.source)],
        "SLIPWAY_MODEL_BUCKET": model.bucket.bucket_name,
        "SLIPWAY_MODEL_PREFIX": model.prefix,
        "SLIPWAY_MODEL_MOUNT": model_mount(model),
        "SLIPWAY_MODEL_DIRECTORY": model.host_directory,
        "SLIPWAY_MODEL_MANIFEST": "1" if model.is_published else "0",
        "SLIPWAY_MODEL_DIGEST": model.manifest_sha256,
        "SLIPWAY_MODEL_DEVICE": _model_device(model),
        "SLIPWAY_SETUP_SECONDS": str(set_up_seconds(model)),
    }


def driver_variables(runtime: str | None) -> Mapping[str, str]:
    """Return what a host must know of its Neuron driver.

    Args:
        runtime: version of the runtime library in the engine's image, where that is known.
    """
    drivers = facts.drivers_for(runtime) if runtime else None
    return {
        "SLIPWAY_NEURON_RUNTIME": runtime or "unknown",
        "SLIPWAY_DRIVER_FROM": (drivers and drivers.driver_from) or "any",
        "SLIPWAY_DRIVER_BELOW": (drivers and drivers.driver_below) or "any",
    }


def proxy_variables(proxy: Proxy | None) -> Mapping[str, str]:
    """Return what a host must know of its HTTP proxy: nothing where there is none."""
    return {"SLIPWAY_PROXY": proxy.url, "SLIPWAY_PROXY_BYPASS": proxy.no_proxy} if proxy else {}


def host_user_data(scripts: HostScripts, bootstrap: Path, variables: Mapping[str, str]) -> ec2.UserData:
    """Return the user data: variables, and the script that fetches and runs the others.

    Args:
        scripts: the host's scripts.
        bootstrap: `user_data.sh`.
        variables: what the scripts read (assets/inference/README.md); values may be tokens.
    """
    known = {
        **variables,
        "SLIPWAY_SCRIPTS": scripts.asset.s3_object_url,
        "SLIPWAY_SCRIPT_SUMS": scripts.sums,
        "SLIPWAY_HOLD_SECONDS": str(HOLD_SECONDS),
    }
    user_data = ec2.UserData.for_linux()
    user_data.add_commands(*(f"export {name}={shlex.quote(value)}" for name, value in known.items()))
    user_data.add_commands(bootstrap.read_text(encoding="utf-8"))
    return user_data
