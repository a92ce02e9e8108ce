"""What the spec's tests share: a small valid environment as data, changes to it, and loading it as a file."""

import copy
from pathlib import Path
from typing import Any

import yaml

from slipway.config import Environment, InvalidEnvironment, Problem, load_environment
from slipway.config.training import Training

Values = dict[str, Any]

MINIMAL: Values = {
    "name": "test",
    "region": "us-west-2",
    "network": {"training_availability_zone_id": "usw2-az4", "other_availability_zone_ids": ["usw2-az1"]},
    "storage": {"lustre": {"capacity_gib": 1200, "throughput_mb_s_per_tib": 125}},
    "training": {
        "cluster_name": "trainium",
        "queues": [{"name": "trn1", "compute_resources": [{"name": "trn1-32xl", "instance_type": "trn1.32xlarge"}]}],
    },
    "inference": {"models": [{"name": "tanuki-8b", "engine": "vllm-hf"}]},
}
"""The fewest keys that make an environment with an endpoint, and the engine that calls for no notice."""


def changed(values: Values, changes: dict[str, Any]) -> Values:
    """Return a copy with other values: `{"training.queues.0.name": "x"}`; missing mappings on the way are added."""
    result = copy.deepcopy(values)
    # Each of its own: a later change may be inside an earlier one, and YAML would write one value of two as an alias.
    for path, value in ((path, copy.deepcopy(value)) for path, value in changes.items()):
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
        holder: Any = result
        for part in parents:
            holder = holder[part] if isinstance(part, int) else holder.setdefault(part, {})
        if isinstance(holder, list) and last == len(holder):
            holder.append(value)
        else:
            holder[last] = value
    return result


def write(directory: Path, values: Values) -> Path:
    """Write values as an environment file."""
    path = directory / "environment.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=10_000), encoding="utf-8")
    return path


def load(directory: Path, values: Values) -> Environment:
    """Load values through a file."""
    return load_environment(write(directory, values))


def load_cluster(directory: Path, values: Values) -> Training:
    """Load values through a file and return the Slurm cluster, which they must have."""
    training = load(directory, values).training
    assert training
    return training


def problems_of(path: Path) -> list[Problem]:
    """Return what is wrong with a file; nothing when it loads."""
    try:
        load_environment(path)
    except InvalidEnvironment as invalid:
        return invalid.problems
    return []
