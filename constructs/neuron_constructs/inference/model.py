"""Where a compiled model is: in its bucket, on a host, in a container."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3


@dataclass(frozen=True, kw_only=True)
class Model:
    """A folder of the model bucket.

    The prefix is part of both directories: a host that still mounts another model has nothing to show under this one's
    path, so a task never serves the wrong model under the right name. Clients see the directory as the model's id.
    """

    bucket: s3.IBucket
    """The bucket."""

    reader_policy: iam.IManagedPolicy
    """Managed policy that allows reading it."""

    prefix: str
    """Key prefix without slashes at its ends: letters, digits, `.`, `_`, `-` and single slashes between folders. It may
    be a template parameter with a pattern that says so."""

    name: str | None = None
    """Id for clients that stays when the prefix changes, for engines that can be told one. None is the directory."""

    is_chosen: cdk.CfnCondition | None = None
    """Condition under which the prefix names a model: until it holds no task is wanted. None means always."""

    @property
    def host_directory(self) -> str:
        """Where a host mounts the model."""
        return f"/mnt/models/{self.prefix}"

    @property
    def container_directory(self) -> str:
        """Where the engine's container sees it. Absolute: an engine takes a relative name for one of a public hub."""
        return f"/models/{self.prefix}"
