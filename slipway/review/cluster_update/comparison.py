"""The update of a cluster from deployed templates to wanted ones, as far as it is known before the deployment."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.review.cluster_update.errors import NotComparableError
from slipway.review.cluster_update.sources import Templates, stack_of_cluster
from slipway.review.cluster_update.values import Names, WantedNames
from slipway.review.judge.inside_parallelcluster.update_answer import Update
from slipway.review.judge.updates import ask_about_updates

_VERSION = re.compile(r"/parallelcluster/([^/]+)/")


class Verdict(IntEnum):
    """What becomes of the update; the value is the command's exit code."""

    POSSIBLE = 0
    """Nothing changes, or the update is possible while all nodes run."""

    NEEDS_STOP = 3
    """Nodes must be stopped first."""

    REFUSED = 4
    """The provider or ParallelCluster refuses it, or CloudFormation would replace the cluster."""


@dataclass(frozen=True)
class Comparison:
    """What the next deployment would do to the cluster."""

    stack: str
    """Name of the stack that holds the cluster's resource."""

    cluster: str
    """Name of the deployed cluster."""

    region: str
    """Its AWS Region."""

    update: Update
    """ParallelCluster's decision about every field that differs."""

    refusals: tuple[str, ...]
    """What ParallelCluster's comparison does not see and the provider or CloudFormation refuses."""

    same: bool
    """Whether the two configurations are equal, as far as it is known."""

    scripts_change: bool
    """Whether other node scripts, or version locks, are put under the same keys."""

    strategy: str
    """`QueueUpdateStrategy` of the wanted configuration."""

    @property
    def verdict(self) -> Verdict:
        """What becomes of the update."""
        if self.refusals or not self.update.allowed:
            return Verdict.REFUSED
        return Verdict.NEEDS_STOP if self.update.stop else Verdict.POSSIBLE

    @property
    def noticed(self) -> bool:
        """Whether ParallelCluster finds changes: else it updates nothing, and the head node runs no OnNodeUpdated."""
        return any(change.policy != "IGNORED" for change in self.update.changes)


@dataclass(frozen=True)
class Cluster:
    """One side's cluster, with names in the place of references."""

    logical_id: str
    """Of the custom resource."""

    name: str
    """`ClusterName`."""

    version: str
    """ParallelCluster version of the provider."""

    configuration: dict[str, Any]
    """`ClusterConfiguration`."""

    scripts: Any
    """Which assets are copied to the keys of the node scripts."""


@dataclass(frozen=True)
class Question:
    """Two clusters to compare: `update` of ParallelCluster's side turns it into a comparison."""

    stack: str
    """Name of the stack that holds the cluster's resource."""

    region: str
    """Its AWS Region."""

    old: Cluster
    """The deployed cluster."""

    new: Cluster
    """The wanted one."""

    def answered(self, update: Update) -> Comparison:
        """Return the comparison with ParallelCluster's decision in it."""
        settings = self.new.configuration.get("Scheduling", {}).get("SlurmSettings", {})
        return Comparison(
            stack=self.stack,
            cluster=self.old.name,
            region=self.region,
            update=update,
            refusals=tuple(_refusals(self.old, self.new)),
            same=self.old.configuration == self.new.configuration,
            scripts_change=self.old.scripts != self.new.scripts,
            strategy=settings.get("QueueUpdateStrategy", ""),
        )


def question(deployed: Templates, wanted: Templates, region: str) -> Question:
    """Read the clusters of two sets of templates.

    Args:
        deployed: templates by stack name, at least the one of the stack that holds the cluster.
        wanted: the templates of the next deployment.
        region: AWS Region of the cluster's stack.

    Raises:
        NotComparableError: one side does not have exactly one cluster, or they are of two environments.
    """
    stack = stack_of_cluster(wanted, "the assembly")
    if (other := stack_of_cluster(deployed, "the other side")) != stack:
        raise NotComparableError(f"{stack} and {other} are stacks of two environments: there is no update between them")
    names = WantedNames(wanted, deployed, region)
    return Question(stack, region, _cluster(deployed, stack, names.deployed), _cluster(wanted, stack, names))


def compare(deployed: Templates, wanted: Templates, region: str, directory: Path) -> Comparison:
    """Let ParallelCluster compare the clusters of two sets of templates.

    Args:
        deployed: see `question`.
        wanted: see `question`.
        region: AWS Region of the cluster's stack.
        directory: an existing folder for what passes to and from ParallelCluster's side.

    Raises:
        NotComparableError: see `question`.
        slipway.review.judge.parallelcluster_process.JudgeFailedError: ParallelCluster's side ended without an answer.
    """
    asked = question(deployed, wanted, region)
    (update,) = ask_about_updates([(asked.old.configuration, asked.new.configuration)], directory)
    return asked.answered(update)


def _cluster(templates: Templates, stack: str, names: Names) -> Cluster:
    resources = templates[stack]["Resources"]
    logical_id, resource = next((key, row) for key, row in resources.items() if row["Type"] == CLUSTER_TYPE)
    properties = names.written(resource["Properties"], stack)
    urls = [
        str(names.written(row["Properties"]["TemplateURL"], stack))
        for row in resources.values()
        if row["Type"] == "AWS::CloudFormation::Stack"
    ]
    version = _VERSION.search(" ".join(urls))
    return Cluster(
        logical_id=logical_id,
        name=str(properties.get("ClusterName")),
        version=version[1] if version else "",
        configuration=properties["ClusterConfiguration"],
        scripts=[
            row["Properties"].get("SourceObjectKeys")
            for row in resources.values()
            if row["Type"] == "Custom::CDKBucketDeployment"
        ],
    )


def _refusals(old: Cluster, new: Cluster) -> Iterator[str]:
    if new.logical_id != old.logical_id:
        yield (
            f"the cluster's resource is called {new.logical_id}, it was {old.logical_id}: CloudFormation makes a "
            "second cluster before it deletes the first, and two of one name cannot be"
        )
    elif new.name != old.name:
        yield f'ClusterName {old.name} -> {new.name}: "Cannot update the ClusterName in the properties."'
    if new.version != old.version:
        yield (
            f'ParallelCluster {old.version} -> {new.version}: "the update can be performed only with the same '
            'ParallelCluster version used to create the cluster"'
        )
