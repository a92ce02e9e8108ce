"""What becomes of the Slurm cluster between two assemblies, in the words of a plan."""

from collections.abc import Sequence
from pathlib import Path

from slipway.assembly.stacks import CLUSTER_TYPE, Stack
from slipway.review.cluster_update.comparison import Cluster, Verdict, question
from slipway.review.cluster_update.errors import NotComparableError
from slipway.review.cluster_update.report import sentences
from slipway.review.cluster_update.sources import Templates
from slipway.review.judge.inside_parallelcluster.update_answer import Update
from slipway.review.judge.parallelcluster_process import JudgeFailedError
from slipway.review.judge.updates import ask_about_updates
from slipway.review.plan import ClusterUpdate
from slipway.review.plan import Verdict as Word

_WORDS: dict[Verdict, Word] = {
    Verdict.POSSIBLE: "can_update",
    Verdict.NEEDS_STOP: "nodes_must_stop",
    Verdict.REFUSED: "cannot_update",
}


def cluster_update(base: Sequence[Stack], head: Sequence[Stack], directory: Path) -> ClusterUpdate | None:
    """Let ParallelCluster's own update policies judge the change of the cluster.

    ParallelCluster, which takes seconds, is not started when the configuration stays the same.

    Args:
        base: the stacks of the base.
        head: the stacks that are planned.
        directory: where question, answer and log of ParallelCluster's side are kept; made if it is not there.

    Returns:
        None when not both sides have a cluster; `not_known`, with the reason, when ParallelCluster is not installed
        or does not answer.
    """
    if not (_has_cluster(base) and _has_cluster(head)):
        return None
    try:
        asked = question(_templates(base), _templates(head), head[0].region)
        unchanged = asked.old.configuration == asked.new.configuration
        comparison = asked.answered(Update(()) if unchanged else _asked(asked.old, asked.new, directory))
    except (NotComparableError, JudgeFailedError) as problem:
        return ClusterUpdate(verdict="not_known", lines=(f"{problem}.",))
    word = "no_change" if unchanged and not comparison.refusals else _WORDS[comparison.verdict]
    return ClusterUpdate(verdict=word, lines=sentences(comparison))


def _asked(old: Cluster, new: Cluster, directory: Path) -> Update:
    directory.mkdir(parents=True, exist_ok=True)
    (update,) = ask_about_updates([(old.configuration, new.configuration)], directory)
    return update


def _templates(stacks: Sequence[Stack]) -> Templates:
    return {stack.name: stack.template for stack in stacks}


def _has_cluster(stacks: Sequence[Stack]) -> bool:
    return any(
        resource["Type"] == CLUSTER_TYPE
        for stack in stacks
        for resource in stack.template.get("Resources", {}).values()
    )
