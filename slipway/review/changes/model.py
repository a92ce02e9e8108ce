"""What a deployment changes: resources, their data, and who may do what."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Effect = Literal["add", "update", "may_replace", "replace", "remove", "orphan"]
"""What CloudFormation does to a resource. `may_replace`: its documentation says "some interruptions", or the new value
is not known before the deployment. `orphan`: the template lets go of it, the resource stays and goes on to cost."""


class PropertyChange(BaseModel):
    """A property of a resource, before and after."""

    model_config = ConfigDict(frozen=True)

    path: str
    """Where it is, for example `ScalingConfig.MaxSize`."""

    before: Any
    """None when it was not there."""

    after: Any
    """None when it goes."""

    effect: Literal["update", "may_replace", "replace"]
    """What the change of this property makes CloudFormation do."""


class ResourceChange(BaseModel):
    """A resource that a deployment touches."""

    model_config = ConfigDict(frozen=True)

    stack: str
    logical_id: str
    construct_path: str
    """Path in the construct tree, for example `slipway-default-storage/Lustre/FileSystem`; the logical id when the
    template does not say."""

    type: str
    """CloudFormation type."""

    effect: Effect
    loses_data: bool
    """Whether data that cannot be recovered goes with it."""

    caused_by: str | None = None
    """`stack/logical id` of the resource whose change alone makes this one change; none if it has its own cause."""

    properties: tuple[PropertyChange, ...] = ()
    notes: tuple[str, ...] = ()
    """What to know about this change that CloudFormation does not say, a sentence each."""


Harm = Literal[
    "public", "unauthenticated", "full_access", "data_loss", "network", "cluster", "permissions", "protection"
]
"""What may happen, the worst first.

* public: the internet reaches it
* unauthenticated: requests are taken without TLS, or from senders who prove less than before
* full_access: somebody, or a program, may do everything
* data_loss: data can be deleted, or are no longer copied
* network: other traffic gets through
* cluster: people or pods may do more in a cluster
* permissions: a principal may do more
* protection: less is encrypted, logged or limited
"""


class WiderAccess(BaseModel):
    """Someone or something may do more than before, or less protects what is there."""

    model_config = ConfigDict(frozen=True)

    stack: str
    resource: str
    """Logical id."""

    kind: Literal["iam", "security_group", "cluster", "protection"]
    """`cluster`: in the configuration of a Slurm or EKS cluster, which no IAM tool reads. `protection`: something that
    keeps data, refuses requests, encrypts or records does it less: nobody may do more by it alone."""

    harm: Harm

    what: str
    """The statement, the rule or the consequence in words, for example `Allow s3:* on * for role HeadNode`."""


class Changes(BaseModel):
    """Everything that differs between two assemblies; what only the hash of an asset moved is left out."""

    model_config = ConfigDict(frozen=True)

    added_stacks: tuple[str, ...] = ()
    removed_stacks: tuple[str, ...] = ()
    resources: tuple[ResourceChange, ...] = ()
    broadenings: tuple[WiderAccess, ...] = ()
    asset_changes: tuple[str, ...] = ()
    """Resources of which nothing but the content of a file that is uploaded changes, as `stack/logical id`."""

    skipped_stacks: tuple[str, ...] = ()
    """Stacks that change only by values of other stacks: `cdk deploy` skips them unless it is given `--force`."""

    @property
    def is_empty(self) -> bool:
        """Whether a deployment would change nothing."""
        return not (
            self.added_stacks or self.removed_stacks or self.resources or self.asset_changes or self.broadenings
        )

    def with_effect(self, *effects: Effect) -> tuple[ResourceChange, ...]:
        """Return the resources with one of these effects, in order."""
        return tuple(change for change in self.resources if change.effect in effects)

    @property
    def waited_for(self) -> frozenset[tuple[str, str]]:
        """Stack and logical id of what a deployment waits for: CloudFormation deletes when all else is done."""
        touched = self.with_effect("add", "update", "may_replace", "replace")
        files = (asset.partition("/") for asset in self.asset_changes)
        return frozenset(
            (*((change.stack, change.logical_id) for change in touched), *((stack, name) for stack, _, name in files))
        )
