"""Asks ParallelCluster whether it would make updates of clusters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slipway.review.judge.inside_parallelcluster.update_answer import Update, from_json
from slipway.review.judge.parallelcluster_process import run_in_parallelcluster

Configuration = Mapping[str, Any]


def ask_about_updates(updates: Sequence[tuple[Configuration, Configuration]], directory: Path) -> list[Update]:
    """Let the real update policies of aws-parallelcluster decide, in its own virtual environment.

    Args:
        updates: pairs of `ClusterConfiguration`, the deployed and the wanted one, as JSON has them.
        directory: an existing folder for question, answer and log.

    Raises:
        slipway.review.judge.parallelcluster_process.JudgeFailedError: the other side ended without an answer.
    """
    pairs = [{"deployed": deployed, "wanted": wanted} for deployed, wanted in updates]
    return from_json(run_in_parallelcluster("slipway.review.judge.inside_parallelcluster.update", pairs, directory))
