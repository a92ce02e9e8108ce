"""How much 50 Slurm queues cost at synth, against the same environment with one queue, measured in the same run.

Run it with `make bench`.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import typer
import yaml

from benchmarks.measurement import PROJECT, Subject, compare, print_comparison

BAR = 1.2
"""The most that 50 queues may cost, in user CPU time of one queue."""


def environment_with_queues(count: int, folder: Path) -> Path:
    """Write the default environment with this many queues of one compute resource each."""
    values: dict[str, Any] = yaml.safe_load((PROJECT / "environments" / "default.yaml").read_text("utf-8"))
    queue = values["training"]["queues"][0]
    values["training"]["queues"] = [{**queue, "name": f"trn1-{number}"} for number in range(1, count + 1)]
    path = folder / f"queues-{count}.yaml"
    path.write_text(json.dumps(values), "utf-8")  # JSON is YAML, without the aliases that PyYAML writes
    return path


def main(runs: int = 5, queues: int = 50) -> None:
    """Print the medians and the paired ratio of user CPU time.

    Args:
        runs: counted runs of each environment.
        queues: queues of the larger environment, at most ParallelCluster's 50.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, many = (
            Subject(f"{count} queues", ("-c", f"environment={environment_with_queues(count, folder)}"))
            for count in (1, queues)
        )
        print_comparison((one, many), compare(one, many, runs, folder), BAR)


if __name__ == "__main__":
    typer.run(main)
