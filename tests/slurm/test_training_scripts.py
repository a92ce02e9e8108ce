"""The scripts of all shipped recipes, as Slurm itself takes them: sbatch --test-only, on partitions that fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_jobs.chain.scripts import render
from tests.jobs.chain_case import RECIPES, environment_below, placed, run_of
from tests.slurm.local_slurm import LocalSlurm, SlurmError

pytestmark = pytest.mark.slurm


def test_slurm_takes_the_jobs_of_each_shipped_recipe(short_path: Path) -> None:
    cases = [placed(file.stem, short_path) for file in sorted(RECIPES.glob("*.yaml"))]
    nodes: dict[str, int] = {}
    for run, _ in cases:
        nodes[run.cpu_queue] = max(nodes.get(run.cpu_queue, 0), 1)
        nodes[run.queue] = max(nodes.get(run.queue, 0), run.recipe.hardware.nodes)
    # Dynamic nodes need not run: sbatch asks the controller only.
    names = [f"{queue}-dy-node-{number}" for queue, count in nodes.items() for number in range(1, count + 1)]
    with LocalSlurm(short_path / "c", nodes=names, cloud=True) as cluster:
        for run, environment in cases:
            for script, text in render(run, environment).items():
                script.parent.mkdir(parents=True, exist_ok=True)
                script.write_text(text, encoding="utf-8")
            for stage in run.stages:
                cluster.run("sbatch", "--test-only", str(run.script(stage)))


def test_slurm_refuses_more_nodes_than_there_are(short_path: Path) -> None:
    environment = environment_below(short_path)
    run = run_of(environment)
    script = short_path / "train.sbatch"
    script.write_text(render(run, environment)[run.script("train")], encoding="utf-8")
    with (
        LocalSlurm(short_path / "c", nodes=("cpu-dy-node-1",), cloud=True) as cluster,
        pytest.raises(SlurmError, match=r"Node count specification invalid|configuration is not available"),
    ):
        cluster.run("sbatch", "--test-only", str(script))
