"""Where a compiled model is: in its bucket, on a host, in a container."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from neuron_constructs.lustre import LustreMount

NOT_PINNED = "none"
"""In place of a manifest's SHA-256: versions that were rolled out before Slipway pinned manifests."""


@dataclass(frozen=True, kw_only=True)
class MountedBucket:
    """Hosts mount the model's folder of the bucket read-only with Mountpoint for Amazon S3."""


@dataclass(frozen=True, kw_only=True)
class LocalCopy:
    """Hosts copy the model's folder to a gp3 volume of their own."""

    volume_gib: int
    """Size of the volume in GiB."""

    throughput_mib_s: int
    """Throughput of the volume in MiB/s, 125 to 1000."""


@dataclass(frozen=True, kw_only=True)
class MountedLustre:
    """Hosts mount a FSx for Lustre file system on which the bucket's folders are below a directory."""

    dns_name: str
    """DNS name of the file system."""

    mount_name: str
    """Mount name of the file system."""

    directory: str
    """Where the bucket is linked on the file system, for example `/models`."""

    client_group_id: str
    """Id of the security group whose members may mount the file system; the hosts become members."""

    @classmethod
    def of(cls, lustre: LustreMount, directory: str) -> "MountedLustre":
        """Return the folder of a file system that links to the models' bucket."""
        return cls(
            dns_name=lustre.dns_name,
            mount_name=lustre.mount_name,
            directory=directory,
            client_group_id=lustre.client_security_group_id,
        )


ModelSource = MountedBucket | LocalCopy | MountedLustre


@dataclass(frozen=True, kw_only=True)
class Model:
    """A folder of the model bucket.

    The prefix is part of the host's directory: a host that still mounts another model has nothing to show under this
    one's path, so a task never serves the wrong model under the right name. It is no part of the container's: an engine
    may list the path as the model's id, and clients keep that id when the version changes.
    """

    bucket: s3.IBucket
    """The bucket."""

    reader_policy: iam.IManagedPolicy
    """Managed policy that allows reading it."""

    prefix: str
    """Key prefix without slashes at its ends: letters, digits, `.`, `_`, `-` and single slashes between folders. It may
    be a template parameter with a pattern that says so."""

    name: str
    """Id for clients that stays when the prefix changes, for engines that can be told one."""

    is_published: bool = False
    """Whether the folder is a published version: hosts then ask for its manifest and check what they copied by it."""

    manifest_sha256: str = NOT_PINNED
    """SHA-256 of the manifest that a host must find, 64 hexadecimal digits; it may be a template parameter.
    `NOT_PINNED` takes any manifest."""

    source: ModelSource = MountedBucket()
    """How it gets to a host."""

    is_chosen: cdk.CfnCondition | None = None
    """Condition under which the prefix names a model: until it holds no task is wanted. None means always."""

    @property
    def host_directory(self) -> str:
        """Where a host has the model."""
        return f"/mnt/models/{self.prefix}"

    @property
    def container_directory(self) -> str:
        """Where the engine's container sees it. Absolute: an engine takes a relative name for one of a public hub."""
        return f"/models/{self.name}"
