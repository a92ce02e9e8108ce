"""Ask ParallelCluster's update policies.

Run it as `python -m slipway.review.judge.inside_parallelcluster.update REQUEST ANSWER`.

`slipway.review.judge.updates` writes the request and starts this in ParallelCluster's virtual environment. Both files
are JSON.
"""

import copy
import itertools
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcluster.config.config_patch import Change as FieldChange  # type: ignore[import-not-found]
from pcluster.config.config_patch import ConfigPatch
from pcluster.config.update_policy import UpdatePolicy  # type: ignore[import-not-found]

from slipway.review.judge.inside_parallelcluster.create_cluster import stringified
from slipway.review.judge.inside_parallelcluster.update_answer import Change, Stop, Update, to_json

Configuration = Mapping[str, Any]


def update_of(deployed: Configuration, wanted: Configuration) -> Update:
    """Let ParallelCluster's own policies decide about every field that differs.

    The comparison is the one of `update-cluster`. It looks at names, not at the schema's types, so references need not
    be resolved: equal texts are equal values.

    Args:
        deployed: `ClusterConfiguration` of the running cluster.
        wanted: `ClusterConfiguration` that the next deployment would hand to the provider.
    """
    os.environ["AWS_DEFAULT_REGION"] = str(wanted.get("Region", ""))
    # What the provider compares: CloudFormation hands it every scalar as text, and the text "false" is true in Python.
    as_text = _Comparison(stringified(deployed), stringified(wanted))
    # What the policies mean.
    meant = _Comparison(_with_booleans(as_text.deployed), _with_booleans(as_text.wanted))
    without_strategy = _Comparison(meant.deployed, _without_strategy(meant.wanted))
    return Update(
        tuple(
            _decided(change, text, meant, as_text, without_strategy)
            for change, text in zip(meant.changes, as_text.changes, strict=True)
        )
    )


def _decided(
    change: FieldChange,
    text: FieldChange,
    meant: "_Comparison",
    as_text: "_Comparison",
    without_strategy: "_Comparison",
) -> Change:
    stop, stop_for_provider = meant.stop_of(change), as_text.stop_of(text)
    passes_provider = bool(stop) and stop_for_provider == ()
    reason, action = meant.refusal_of(change)
    if stop == () and stop_for_provider != ():
        # The provider takes the text "false" for a group that ParallelCluster made: where it goes, nodes must stop.
        stop = stop_for_provider
        reason, action = as_text.refusal_of(text)
    return Change(
        path=ConfigPatch.build_config_param_path(change.path, change.key),
        old=_absent_as_none(change.old_value),
        new=_absent_as_none(change.new_value),
        policy=change.update_policy.name,
        allowed=stop is not None,
        stop=stop or (),
        by_strategy=stop == () and without_strategy.stop_of(change) != (),
        passes_provider=passes_provider,
        reason=reason,
        action=action,
    )


def _absent_as_none(value: Any) -> Any:
    """ParallelCluster writes a section that is not there as a dash."""
    return None if value == "-" else value


def _with_booleans(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_booleans(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_booleans(item) for item in value]
    return {"true": True, "false": False}.get(value, value)


def _without_strategy(configuration: Configuration) -> dict[str, Any]:
    changed: dict[str, Any] = copy.deepcopy(dict(configuration))
    changed.get("Scheduling", {}).get("SlurmSettings", {}).pop("QueueUpdateStrategy", None)
    return changed


@dataclass
class _Fleet:
    """What ParallelCluster's policies ask of the deployed cluster: which nodes run."""

    name: str
    running_pools: frozenset[str]
    """Login pools that have nodes."""

    stopped: frozenset[Stop] = frozenset()

    def has_running_capacity(self, updated_value: bool = False) -> bool:
        """Whether the compute fleet is not stopped, be it without a single node."""
        return Stop.COMPUTE_FLEET not in self.stopped

    def has_running_login_nodes(self, updated_value: bool = False, pool_name: str | None = None) -> bool:
        """Whether any login node runs, or one of a pool."""
        if Stop.LOGIN_NODES in self.stopped:
            return False
        return bool(self.running_pools) if pool_name is None else pool_name in self.running_pools


class _Comparison:
    """ParallelCluster's comparison of two configurations, asked in different states of the fleet."""

    def __init__(self, deployed: Configuration, wanted: Configuration) -> None:
        self.deployed = deployed
        self.wanted = wanted
        self._fleet = _Fleet("compared", frozenset(_running_pools(deployed)))
        self._patch = ConfigPatch(self._fleet, dict(deployed), dict(wanted))

    @property
    def changes(self) -> list[FieldChange]:
        """Every field that differs; the strategy itself, which is not a change of the cluster, too."""
        return list(self._patch.changes)

    def stop_of(self, change: FieldChange) -> tuple[Stop, ...] | None:
        """Give the least that must be stopped for a change; None when nothing makes it possible."""
        for count in range(len(Stop) + 1):
            for stopped in itertools.combinations(Stop, count):
                if self._check(change, stopped)[0] == UpdatePolicy.CheckResult.SUCCEEDED:
                    return stopped
        return None

    def refusal_of(self, change: FieldChange) -> tuple[str, str]:
        """Give ParallelCluster's reason and action while everything runs; empty texts for what it lets through."""
        result, reason, action = self._check(change, ())
        return ("", "") if result == UpdatePolicy.CheckResult.SUCCEEDED else (reason or "", action or "")

    def _check(self, change: FieldChange, stopped: tuple[Stop, ...]) -> tuple[Any, str, str]:
        self._fleet.stopped = frozenset(stopped)
        result, reason, action, _ = change.update_policy.check(change, self._patch)
        return result, reason, action


def _running_pools(configuration: Configuration) -> Iterator[str]:
    for pool in configuration.get("LoginNodes", {}).get("Pools", []):
        if int(pool["Count"]) > 0:
            yield pool["Name"]


if __name__ == "__main__":
    request, answer = (Path(argument) for argument in sys.argv[1:3])
    pairs = json.loads(request.read_text("utf-8"))
    answer.write_text(to_json([update_of(pair["deployed"], pair["wanted"]) for pair in pairs]), "utf-8")
