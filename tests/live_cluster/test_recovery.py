"""A training on a living cluster is killed at random moments, in each way that can happen, and goes on by itself.

The training is the real job kit with torch on processors, two workers on two nodes.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.live_cluster.conftest import Start
from tests.live_cluster.live_cluster import LiveCluster
from tests.live_cluster.recovery import Recovery
from tests.slurm.local_slurm import ENDED
from tests.slurm.training_jobs import RECIPES, TrainingJobs
from tests.slurm.undisturbed_training import losses, train_undisturbed

pytestmark = pytest.mark.nightly

KILLS = 10
"""Of one training."""

STEPS_BETWEEN = 30
INTERVAL = 5
LONGEST = 180.0
"""Seconds without a line in the logs, or until training goes on."""


class Training:
    """A submitted training, and what can happen to it."""

    def __init__(self, cluster: LiveCluster, directory: Path, chance: random.Random) -> None:
        self.cluster = cluster
        self.jobs = TrainingJobs(cluster, directory)
        self.run = self.jobs.submit(
            RECIPES / "tiny-llama.yaml",
            steps=(KILLS + 1) * STEPS_BETWEEN,
            hardware__workers_per_node=1,
            parallelism__tensor_parallel_size=1,
            checkpoint__interval_steps=INTERVAL,
            restarts__limit=KILLS,
            restarts__hang_minutes=1,
            publish="null",
        )
        self.job = self.jobs.job(self.run, "train")
        self._chance = chance
        self.seen: dict[int, set[float]] = {}
        """Every loss that was written down, by step: a step that is repeated may have two."""

    def ways(self) -> Mapping[str, Callable[[], None]]:
        """Return what can happen, by what the report calls it."""
        return {
            "a worker is killed": lambda: self.jobs.kill_worker(self.run, self._rank()),
            "a worker hangs": lambda: self.jobs.kill_worker(self.run, self._rank(), signal.SIGSTOP),
            "a Neuron device fails": self._lose_a_device,
            "EC2 takes an instance": lambda: self.cluster.account.terminate(self._instance()),
        }

    def last_step(self) -> int:
        """Return the last step that is written down, and remember all losses."""
        file = self.run.metrics_file
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
            try:
                row = json.loads(line)
            except ValueError:
                break  # it is being written
            self.seen.setdefault(row["step"], set()).add(row["loss"])
        return max(self.seen, default=0)

    def wait_for_step(self, step: int) -> None:
        """Wait for a step as long as the run's logs grow; a living cluster's own wait looks too seldom."""
        logged: list[int] = []
        deadline = 0.0
        while self.last_step() < step:
            if (now := self.jobs.logged(self.run)) != logged:
                logged, deadline = now, time.monotonic() + LONGEST
            assert time.monotonic() < deadline, self.jobs.log(self.run, "train")[-4000:]
            time.sleep(0.02)

    def kill(self, way: str) -> Recovery:
        """Let something happen, wait until training goes on, and return what it cost."""
        before = self._starts()
        at, usd = time.time(), self.cluster.instances.usd()
        self.ways()[way]()
        self.cluster.wait("training to start again", lambda: self._starts() > before, LONGEST)
        reached = self.last_step()
        first = self.jobs.attempts(self.run, "train")[-1].first_step
        self.cluster.wait("the next step", lambda: self._next_step() is not None)
        next_step = self._next_step()
        assert next_step is not None
        return Recovery(way, next_step - at, steps_lost=reached - first, usd=self.cluster.instances.usd() - usd)

    def wait_for_end(self) -> str:
        """Wait for the end of the training and return the state of its job."""
        self.cluster.wait("the end", lambda: self.jobs.start_if_requeued(self.job)["JobState"] in ENDED, LONGEST)
        return self.cluster.job(self.job)["JobState"]

    def _starts(self) -> int:
        """Return how often training began, after it was let begin again. Slurm forgets the jobs before it meanwhile."""
        self.jobs.start_if_requeued(self.job)
        return len(self.jobs.attempts(self.run, "train"))

    def _next_step(self) -> float | None:
        """Return when the last start took its first step; None: it has not."""
        last = self.jobs.attempts(self.run, "train")[-1]
        rows = [json.loads(line) for line in self.run.metrics_file.read_text(encoding="utf-8").splitlines()]
        return next(
            (row["time"] for row in rows if row["step"] == last.first_step + 1 and row["time"] > last.started), None
        )

    def _rank(self) -> int:
        return self._chance.randrange(self.run.world_size)

    def _instance(self) -> str:
        nodes = self.cluster.run("scontrol", "show", "hostnames", self.cluster.job(self.job)["NodeList"]).split()
        return self.cluster.instances.of_node(self._chance.choice(nodes))

    def _lose_a_device(self) -> None:
        """Take a device away, and end the worker of its node: the Neuron runtime's calls fail."""
        known = self.cluster.instances.known[self._instance()]
        assert known.machine
        known.machine.lose_a_device()
        mark = f"SLURMD_NODENAME={known.node}".encode()
        for process in self.jobs.workers(self.run).values():
            if mark in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("seed", range(5))
def test_a_training_survives_what_kills_it(
    seed: int, start_cluster: Start, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Five trainings fail fifty times in all, at random moments."""
    chance = random.Random(seed)
    cluster = start_cluster()
    training = Training(cluster, tmp_path / "u", chance)
    # Each way at least twice, in any order.
    ways = [*training.ways(), *training.ways()]
    ways += chance.choices(list(training.ways()), k=KILLS - len(ways))
    chance.shuffle(ways)

    for number, way in enumerate(ways):
        # Some step after the first checkpoint that follows the last kill, at any moment of it.
        training.wait_for_step(number * STEPS_BETWEEN + chance.randrange(2 * INTERVAL, STEPS_BETWEEN))
        record_property("recovery", json.dumps(asdict(training.kill(way))))

    run = training.run
    assert training.wait_for_end() == "COMPLETED", training.jobs.log(run, "train")
    training.last_step()
    # What was taken again has the same loss as before, and each step that of a training that nothing disturbed.
    straight = losses(train_undisturbed(run, tmp_path / "straight"))
    assert training.seen == {step: {loss} for step, loss in straight.items()}
    assert losses(run.metrics_file) == straight
    cluster.wait_until_nothing_runs()
