"""Whose a thing is: by its tags, by its name, or by the VPC that it is in."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from slipway.assembly.existing import ExistingResource
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.remove.leftovers.item import Item

PARTS = ("network", "storage", "training", "kubernetes", "inference", "operations")
"""The parts of an environment that have a stack of their own: `slipway-<environment>-<part>`."""

STACK_TAG = "aws:cloudformation:stack-name"
STACK_ID_TAG = "aws:cloudformation:stack-id"
LOGICAL_ID_TAG = "aws:cloudformation:logical-id"

CLUSTER_TAGS = (
    "parallelcluster:cluster-name",
    "eks:cluster-name",
    "aws:eks:cluster-name",
    "elbv2.k8s.aws/cluster",
    "cluster.k8s.amazonaws.com/name",
    "KubernetesCluster",
)
"""Tags whose value is the name of a cluster: of ParallelCluster, of EKS, and of what runs in Kubernetes."""

KUBERNETES_TAG = "kubernetes.io/cluster/"
"""Tag whose key ends in the name of a Kubernetes cluster."""


@dataclass(frozen=True)
class Subject:
    """The environment whose things are looked for.

    Attributes:
        environment: its name.
        region: its AWS Region.
        stacks: names of its app's stacks. A cluster's own stack is none: its name is its user's choice, and may begin
            the names of other people's things.
        clusters: names of its Slurm and EKS clusters.
        kept: what its templates keep: (stack, logical id) -> CloudFormation type.
        account: id of the AWS account that its file names; None when it names none.
        existing: what it uses and does not own. An earlier environment of its name may have tagged that.
    """

    environment: str
    region: str
    stacks: tuple[str, ...]
    clusters: tuple[str, ...] = ()
    kept: Mapping[tuple[str, str], str] = field(default_factory=dict)
    account: str | None = None
    existing: tuple[ExistingResource, ...] = ()

    def uses_existing(self, id_or_arn: str) -> bool:
        """Return whether a thing is one that the environment uses and does not own."""
        return any(existing.is_named(id_or_arn) for existing in self.existing)

    def with_clusters(self, names: Iterable[str]) -> "Subject":
        """Return it with clusters that were found."""
        return replace(self, clusters=tuple(dict.fromkeys((*self.clusters, *names))))

    def without_clusters(self, names: Iterable[str]) -> "Subject":
        """Return it without clusters that turned out to be somebody else's."""
        others = set(names)
        return replace(self, clusters=tuple(name for name in self.clusters if name not in others))


def subject_of_name(environment: str, region: str) -> Subject:
    """Return an environment of which no more is known than its name; the rest comes from what carries its tag."""
    return Subject(environment, region, tuple(f"slipway-{environment}-{part}" for part in PARTS))


def clusters_in(tags: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the clusters that some tags name as their owner; `shared` only lets a cluster use a subnet."""
    for key, value in tags.items():
        if key in CLUSTER_TAGS:
            yield value
        elif key.startswith(KUBERNETES_TAG) and value == "owned":
            yield key.removeprefix(KUBERNETES_TAG)


def sign(item: Item, subject: Subject) -> str | None:
    """Say by what a thing is the environment's; None when it is not, or it is unknown.

    The tag of another environment, or of other clusters alone, beats every name.
    """
    environment = item.tags.get(ENVIRONMENT_TAG)
    if environment is not None:
        return f"tag {ENVIRONMENT_TAG}={environment}" if environment == subject.environment else None
    stack = item.tags.get(STACK_TAG)
    if stack is not None and stack in (*subject.stacks, *subject.clusters):
        return f"tag {STACK_TAG}={stack}"
    clusters = tuple(clusters_in(item.tags))
    for cluster in clusters:
        if cluster in subject.clusters:
            return f"a tag of cluster {cluster}"
    if clusters:
        return None
    return _sign_by_name(item, subject)


def _sign_by_name(item: Item, subject: Subject) -> str | None:
    if item.left.of_cluster and item.facts.get(item.left.of_cluster) in subject.clusters:
        return f"part of cluster {item.facts[item.left.of_cluster]}"
    paths = [item.left.below.format(cluster=cluster) for cluster in subject.clusters] if item.left.below else []
    if item.facts.get("path") in paths:
        return f"path {item.facts['path']}"
    if _is_of_a_longer_name(item, subject):
        return None
    for pattern in patterns(("{stack}-*", *item.left.names), subject):
        if is_named(item, pattern):
            return f"name {pattern}"
    return None


def _is_of_a_longer_name(item: Item, subject: Subject) -> bool:
    """Return whether a thing is named for a stack of another environment, whose name begins like this one's stack.

    `slipway-small-network-operations` is a stack of `small-network`, and no resource of `slipway-small-network`; so is
    `slipway-small-network-east-operations` one of `small-network-east`.
    """
    stacks, parts = "|".join(map(re.escape, subject.stacks)), "|".join(PARTS)
    longer = re.compile(f"({stacks})-([a-z0-9]*-)*({parts})(?![A-Za-z0-9])")
    return bool(subject.stacks) and any(longer.search(word) for word in (item.name, item.id))


def is_named(item: Item, pattern: str) -> bool:
    """Return whether a thing's name, or its id, meets a shell-style pattern."""
    return fnmatchcase(item.name, pattern) or fnmatchcase(item.id, pattern)


def patterns(templates: Iterable[str], subject: Subject) -> Iterator[str]:
    """Yield the shell-style patterns that templates make with the names of an environment's stacks and clusters."""
    for template in templates:
        for stack in subject.stacks if "{stack}" in template else ("",):
            for cluster in subject.clusters if "{cluster}" in template else ("",):
                yield template.format(
                    environment=subject.environment, region=subject.region, stack=stack, cluster=cluster
                )
