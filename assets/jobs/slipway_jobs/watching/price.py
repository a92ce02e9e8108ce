"""What a run's nodes cost."""

from __future__ import annotations

from dataclasses import dataclass

from slipway_jobs.environment import Environment
from slipway_jobs.run import Run, Stage, WorkerRun


@dataclass(frozen=True)
class Price:
    """What nodes cost."""

    train: float | None
    """USD for an hour of a node of the train and compile jobs; none where no price is known."""

    cpu: float | None
    """The same of the other jobs."""

    def of(self, stage: Stage) -> float | None:
        """Return the price of a node of a stage's job."""
        return self.train if stage in ("compile", "train") else self.cpu


def price_of(run: Run, environment: Environment | None) -> Price:
    """Return what the run's nodes cost; of a CPU queue that mixes instance types, the dearest.

    Args:
        run: the run.
        environment: where it runs; none where its file cannot be read any more.
    """
    train = run.usd_per_node_hour if isinstance(run, WorkerRun) else None
    if environment is None:
        return Price(train=train, cpu=None)
    prices = [
        environment.instance_types[name].usd_per_hour
        for queue in environment.queues
        if queue.name == run.cpu_queue
        for name in queue.instance_types
        if name in environment.instance_types
    ]
    known = [price for price in prices if price is not None]
    return Price(train=train, cpu=max(known) if known and len(known) == len(prices) else None)
